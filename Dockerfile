# hostpool as an image: `docker build -t hostpool .`; docs/containers.md explains how to run it.
#
# The base images are arguments, so that images of your own can stand in where no registry is reachable. What each must have:
#   NODE_IMAGE     Node 20 as /usr/local/bin/node, npm in /usr/local/lib/node_modules/npm
#   RUST_IMAGE     cargo and rustc on the PATH, a C compiler (for SQLite); the same glibc as RUNTIME_IMAGE or an older one
#   RUNTIME_IMAGE  glibc, libstdc++, useradd
ARG NODE_IMAGE=node:20-bookworm-slim
ARG RUST_IMAGE=rust:1.95-slim-bookworm
ARG RUNTIME_IMAGE=debian:bookworm-slim

FROM ${NODE_IMAGE} AS node
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --omit=dev --ignore-scripts --no-audit --no-fund

FROM ${RUST_IMAGE} AS build
COPY --from=node /usr/local/bin/node /usr/local/bin/node
COPY --from=node /usr/local/lib/node_modules/npm /usr/local/lib/node_modules/npm
RUN ln -sf ../lib/node_modules/npm/bin/npm-cli.js /usr/local/bin/npm
WORKDIR /app
COPY package.json package-lock.json Cargo.toml ./
COPY scripts/prepare.mjs scripts/
RUN node scripts/prepare.mjs packages
COPY Cargo.lock ./
COPY crates crates
RUN node scripts/prepare.mjs addon
COPY tsconfig.json tsconfig.build.json ./
COPY scripts scripts
COPY src src
RUN node scripts/prepare.mjs server

FROM ${RUNTIME_IMAGE}
ARG REVISION=unknown
LABEL org.opencontainers.image.title="hostpool" \
      org.opencontainers.image.description="A per-host broker for LLM key/value cache memory, over GraphQL." \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.revision="${REVISION}"
# By number as well, so that orchestrators can see that it is not root.
RUN groupadd --gid 10001 hostpool \
 && useradd --uid 10001 --gid 10001 --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin hostpool \
 && install --directory --owner 10001 --group 10001 --mode 0700 /var/lib/hostpool
COPY --from=node /usr/local/bin/node /usr/local/bin/node
WORKDIR /app
COPY --from=node /app/node_modules node_modules
COPY --from=build /app/native native
COPY --from=build /app/dist dist
COPY package.json ./
ENV NODE_ENV=production HOSTPOOL_STATE_DIR=/var/lib/hostpool
# A volume that is made for it takes its owner and mode from here.
VOLUME /var/lib/hostpool
USER 10001:10001
# node is process 1: it gets SIGTERM itself, finishes what runs, unmaps every pool and ends with 0.
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=20s --retries=3 CMD ["node", "-e", "const { HOSTPOOL_ADDRESS: a, HOSTPOOL_PORT: p } = process.env; fetch(`http://${a?.includes(':') ? `[${a}]` : a || '127.0.0.1'}:${p || 4400}/healthz`).then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["node", "dist/main.js"]
