# The daemon and its commands in one image; what to set, and how to run it: docs/containers.md

FROM node:26-bookworm-slim AS build
WORKDIR /app
# A registry other than npm's own: --build-arg NPM_CONFIG_REGISTRY=https://…
ARG NPM_CONFIG_REGISTRY
COPY package.json package-lock.json .npmrc ./
# What the workspaces need, without their sources: these change more often, and nothing is installed again then.
COPY build/package.json build/
COPY packages/embedded-postgres/package.json packages/embedded-postgres/
COPY packages/runtime/package.json packages/runtime/
COPY packages/sandbox/package.json packages/sandbox/
COPY src/package.json src/
# The workspaces' packages only: the root's are for tests, an embedded Postgres and a runtime. Here the database is
# outside, and the image brings Node.
RUN npm ci --workspaces --include-workspace-root=false --ignore-scripts
COPY bin ./bin
COPY build ./build
COPY packages ./packages
COPY src ./src
RUN npm run -s build

FROM node:26-bookworm-slim
LABEL org.opencontainers.image.title="research-mirror" \
      org.opencontainers.image.description="Mirrors an account of a Research & Enrichment Service into Postgres" \
      org.opencontainers.image.licenses="Apache-2.0"
WORKDIR /app
COPY package.json LICENSE ./
COPY bin ./bin
COPY migrations ./migrations
COPY docker ./docker
COPY --from=build /app/dist/program ./dist/program
RUN ln -s /app/bin/research-mirror.js /usr/local/bin/research-mirror \
 && install --directory --owner=node --group=node --mode=700 /data dist/compile-cache

# Only loopback would be out of reach from outside the container. Elsewhere the status page asks for a token, which is
# made and kept in the data folder where MIRROR_STATUS_TOKEN is not set.
# The young generation of the heap, in MB, and glibc's regions of memory: bin/heap.js says why.
ENV NODE_ENV=production \
    NODE_OPTIONS=--max-semi-space-size=4 \
    MALLOC_ARENA_MAX=1 \
    MIRROR_DATA_DIR=/data \
    MIRROR_HTTP_HOST=0.0.0.0 \
    MIRROR_WEBHOOK_HOST=0.0.0.0
VOLUME /data
# Status page; webhook deliveries, with MIRROR_PUBLIC_URL only.
EXPOSE 8080 8081

# The image's user "node", as a number: Kubernetes can't tell from a name that it is not root.
USER 1000:1000
# What V8 makes of the program, for this user: the container's file system may be read-only.
RUN node docker/compile.js
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 \
  CMD ["node", "/app/docker/healthcheck.js"]
ENTRYPOINT ["research-mirror"]
CMD ["start"]
