# A stand-in for the official node image, from a Debian base and a folder with this machine's node, npm and certificates.
ARG DEBIAN_IMAGE
FROM ${DEBIAN_IMAGE}
COPY ca-certificates.crt /etc/ssl/certs/
ENV NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt
COPY files /usr/local
RUN ln -s ../lib/node_modules/npm/bin/npm-cli.js /usr/local/bin/npm
