# One image, three entry points, chosen by the first argument:
#   dist/bin/operator.js, dist/bin/server.js (PAYMASTER_ROLES=rpc|dashboard), dist/bin/standalone.js
# and `paymaster`, the command line.
# Node.js is process 1: it handles SIGTERM itself and drains, so that no init program is needed. Nothing is written
# outside of /tmp and the mounted folders: run it with a read-only root.
ARG BASE=docker.io/library/node:24-bookworm-slim

FROM ${BASE} AS build
WORKDIR /src
COPY package.json package-lock.json .npmrc ./
# Not `npm ci`, for which the lock file lacks binaries of other platforms; versions are those of the lock file all the same.
# Nothing reads @uniswap, and its licences do not allow everybody to use it: the dev chain's image is made of this stage.
RUN npm install --no-save --no-audit --no-fund && rm -rf node_modules/@uniswap
COPY . .
RUN node_modules/.bin/tsc -b && node hack/programs.mjs && node_modules/.bin/vite build --config console/vite.config.mjs --logLevel warn

FROM ${BASE} AS dependencies
WORKDIR /src
COPY package.json package-lock.json .npmrc ./
# Native libsecp256k1 comes prebuilt inside its package for linux/amd64, and not for linux/arm64: there signing falls back to
# WebAssembly and says so (docs/keys.md).
RUN npm install --no-save --omit=dev --omit=optional --no-audit --no-fund

# `docker build --target dev-chain`: the chain of `make run` by itself, for a trial in a cluster.
FROM build AS dev-chain
ENV HOST=0.0.0.0
USER 1000:1000
EXPOSE 8545
STOPSIGNAL SIGTERM
ENTRYPOINT ["node", "--no-warnings"]
CMD ["dist/bin/dev-chain.js"]

FROM ${BASE}
LABEL org.opencontainers.image.title="paymaster-operator" \
      org.opencontainers.image.licenses="Apache-2.0"
ENV NODE_ENV=production
WORKDIR /app
COPY --from=dependencies /src/node_modules node_modules
COPY --from=build /src/package.json /src/LICENSE /src/NOTICE ./
COPY --from=build /src/dist/bin dist/bin
COPY --from=build /src/dist/console dist/console
COPY --chmod=755 hack/image/paymaster /usr/local/bin/
COPY --from=build /src/contracts/artifacts contracts/artifacts
COPY --from=build /src/examples/quickstart examples/quickstart
COPY --from=build /src/examples/first examples/first
USER 1000:1000
EXPOSE 8080
STOPSIGNAL SIGTERM
ENTRYPOINT ["node", "--no-warnings"]
CMD ["dist/bin/server.js"]
