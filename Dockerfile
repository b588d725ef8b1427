# One image: migrations, indexers and the API differ by their command (docker-compose.yml). The optional packages, which
# tracing, ipfs:// URIs (OFFCHAIN_URIS) and the squid's GraphQL need, are omitted by default. To include them:
#   docker build --build-arg OMIT=--omit=dev .
ARG NODE_IMAGE=node:22-bookworm-slim
FROM ${NODE_IMAGE} AS build
WORKDIR /app
COPY package.json package-lock.json ./
COPY packages/cli/package.json packages/cli/
COPY packages/client/package.json packages/client/
COPY packages/contracts/package.json packages/contracts/
COPY packages/mcp/package.json packages/mcp/
COPY packages/witness/package.json packages/witness/
COPY dev/package.json dev/
COPY web/package.json web/
RUN npm ci --omit=dev --no-audit --no-fund
COPY . .
RUN npm run build

FROM ${NODE_IMAGE}
WORKDIR /app
ARG OMIT="--omit=dev --omit=optional"
ENV NODE_ENV=production HOST=0.0.0.0
COPY package.json package-lock.json ./
COPY packages/cli/package.json packages/cli/
COPY packages/client/package.json packages/client/
COPY packages/contracts/package.json packages/contracts/
COPY packages/mcp/package.json packages/mcp/
COPY packages/witness/package.json packages/witness/
COPY ops/optional/package.json ops/optional/
# Without dev and web, whose packages are only needed to build.
RUN npm ci $OMIT --no-audit --no-fund && npm cache clean --force
COPY --from=build /app/lib lib
COPY --from=build /app/dist/api dist/api
COPY --from=build /app/dist/src dist/src
COPY --from=build /app/dist/web dist/web
COPY --from=build /app/dist/package.json dist/package.json
COPY --from=build /app/packages/client/dist packages/client/dist
COPY --from=build /app/packages/mcp/dist packages/mcp/dist
COPY db db
COPY docs docs
COPY schema.graphql ./
# V8's compile cache: indexers and the API start a quarter faster. Node stores it by version and user.
ENV NODE_COMPILE_CACHE=/app/.compile-cache
RUN mkdir .compile-cache && chown node .compile-cache
USER node
RUN node -e "['./lib/indexer/run.js', './dist/api/copy.js'].forEach((file) => require(file)); process.exit()"
EXPOSE 3000
CMD ["node", "dist/api/main.js"]
