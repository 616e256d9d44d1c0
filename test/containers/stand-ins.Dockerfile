# Stand-ins for the official node and rust images, from a Debian base and a folder with this machine's node, npm and Rust.
# lib.sh builds them where no image registry is reachable.
ARG DEBIAN_IMAGE
FROM ${DEBIAN_IMAGE} AS node
COPY ca-certificates.crt /etc/ssl/certs/
ENV NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt
COPY node /usr/local
RUN ln -s ../lib/node_modules/npm/bin/npm-cli.js /usr/local/bin/npm

FROM ${DEBIAN_IMAGE} AS rust
RUN apt-get update -qq && apt-get install -y -qq --no-install-recommends gcc libc6-dev
COPY ca-certificates.crt /etc/ssl/certs/
ENV NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt
COPY rust /usr/local
