/** A variable that tallygate reads from its environment. */
export interface EnvironmentVariable {
  readonly name: string
  readonly meaning: string
  /** As text, parsed like a value from outside; `null`: unset, or decided elsewhere. */
  readonly default: string | null
}

/** Every variable there is, in the order in which docs/configuration.md lists them. */
export const ENVIRONMENT = [
  { name: 'HOST', meaning: 'address to listen on; 127.0.0.1 for `npm start`', default: '0.0.0.0' },
  { name: 'PORT', meaning: 'port to listen on', default: '8080' },
  { name: 'BASE_PATH', meaning: 'path prefix of the base URL, such as `/llm`', default: null },
  {
    name: 'PUBLIC_URL',
    meaning: "base URL in addresses that stand in place of the upstream's; unset: as the client wrote it",
    default: null,
  },
  {
    name: 'CORS_ORIGINS',
    meaning:
      'origins of web pages that may call the gateway, `https://app.example.com` and more after commas; `*`: all; unset: none',
    default: null,
  },
  { name: 'TLS_CERT_FILE', meaning: 'certificate chain in PEM; serve HTTPS', default: null },
  { name: 'TLS_KEY_FILE', meaning: 'private key in PEM; serve HTTPS', default: null },
  {
    name: 'UPSTREAM_URL',
    meaning: 'the backend; path and query are appended, a trailing `/v1` is not doubled',
    default: null,
  },
  {
    name: 'UPSTREAM_API_KEY',
    meaning: "credential sent upstream in place of the client's key; unset: none is sent",
    default: null,
  },
  {
    name: 'UPSTREAM_PROVIDER',
    meaning: 'whose wire format and prices; unset: known from the host, else `openai-compatible`',
    default: null,
  },
  {
    name: 'UPSTREAM_CREDENTIALS',
    meaning:
      "`aws`, `google` or `azure`: the cloud's own credentials in place of a key, as its tools find them; unset: none",
    default: null,
  },
  {
    name: 'TALLYGATE_CONFIG',
    meaning: 'YAML file: several upstreams, models shown, price overrides',
    default: null,
  },
  {
    name: 'REDIS_URL',
    meaning: 'Redis: one server, a socket, Sentinels or a cluster; required by gateway and worker',
    default: null,
  },
  {
    name: 'DATABASE_URL',
    meaning: 'PostgreSQL, a URL of libpq, also with several hosts; required by gateway and worker',
    default: null,
  },
  {
    name: 'DATABASE_READ_URL',
    meaning: "a streaming replica that operators' reports and exports are read from; unset: the primary",
    default: null,
  },
  { name: 'REDIS_PREFIX', meaning: 'prefix of every Redis key', default: 'tallygate:' },
  {
    name: 'JOURNAL_DIR',
    meaning: "the gateway's disk journal; unset: `journal` in TALLYGATE_DATA_DIR",
    default: null,
  },
  {
    name: 'JOURNAL_MAX_BYTES',
    meaning: 'cap of what the journal holds uncommitted; at the cap calls get 503',
    default: '1073741824',
  },
  {
    name: 'JOURNAL_KEEP_SECONDS',
    meaning:
      'how far PostgreSQL may be restored to an earlier state, by failover or backup, and be refilled from the journals; some 800 bytes a call',
    default: '300',
  },
  {
    name: 'ON_JOURNAL_FULL',
    meaning:
      '`refuse` calls that cannot be recorded, or let them pass `unmetered`: counted in `tallygate_unmetered_calls_total`, a warning each',
    default: 'refuse',
  },
  { name: 'ADMIN_HOST', meaning: "address of the operator's listener", default: '127.0.0.1' },
  { name: 'ADMIN_PORT', meaning: "port of the operator's listener", default: '8081' },
  {
    name: 'ADMIN_TOKEN',
    meaning: 'bearer token for `/admin/v1/*` and the dashboard; unset: both answer 404',
    default: null,
  },
  {
    name: 'PORTAL_PORT',
    meaning:
      "port of the clients' page, on HOST: clients see their own usage, limits and calls there; unset: there is none, 8082 for `npm start`",
    default: null,
  },
  {
    name: 'PORTAL_EMBED_ORIGINS',
    meaning:
      "origins of pages that may show the clients' page in theirs, `https://app.example.com` and more after commas; unset: none",
    default: null,
  },
  {
    name: 'METRICS_CLIENTS',
    meaning:
      'clients that `/metrics` names with their calls and cost, those that cost most, and the rest as `other`; 0: none',
    default: '0',
  },
  {
    name: 'KEY_NETWORKS',
    meaning:
      'networks (/24, /48) that each key is used from are kept for 90 days: by the `peer` that connects, by the last `x-forwarded-for` of a proxy before the gateway, or `off`',
    default: 'peer',
  },
  {
    name: 'ON_CLIENT_ABORT',
    meaning:
      '`cancel` the upstream call of a client that left where its bytes tell what it cost, or `drain` every one to its end',
    default: 'cancel',
  },
  { name: 'GATEWAY_PROCESSES', meaning: 'processes sharing the port', default: '1' },
  { name: 'TALLYGATE_DATA_DIR', meaning: 'where `npm start` keeps everything', default: '.tallygate' },
  {
    name: 'KEY_PEPPER',
    meaning: 'secret mixed into the hashes of keys at rest; `new,old` while changing it',
    default: null,
  },
  {
    name: 'CALL_RETENTION_DAYS',
    meaning: 'days for which single calls are kept beside the daily totals; 0: not at all',
    default: '35',
  },
  {
    name: 'AXIS_VALUES_PER_DAY',
    meaning:
      'values of a client on one of the `axes` and day that have totals of their own; the rest is `(other)`',
    default: '2000',
  },
  {
    name: 'CALL_ALERT_USD',
    meaning:
      'a single call that costs more US dollars is booked, flagged, logged as an error and named by `doctor`; 0: none is',
    default: '1000',
  },
  {
    name: 'CALLS_KAFKA_BROKERS',
    meaning:
      'brokers of Kafka, `host:port` and more of them after commas: workers send single calls there too; unset: nowhere',
    default: null,
  },
  { name: 'CALLS_KAFKA_TOPIC', meaning: 'the topic, which has to exist', default: 'tallygate.calls' },
  {
    name: 'CALLS_KAFKA_TLS',
    meaning: '`true`: connect by TLS, with the certificates that Node trusts',
    default: 'false',
  },
  {
    name: 'CALLS_KAFKA_CA_FILE',
    meaning: 'certificates in PEM that are trusted in place of those',
    default: null,
  },
  {
    name: 'CALLS_KAFKA_CERT_FILE',
    meaning: 'certificate chain in PEM that the brokers know the workers by',
    default: null,
  },
  { name: 'CALLS_KAFKA_KEY_FILE', meaning: 'its private key in PEM', default: null },
  {
    name: 'CALLS_KAFKA_MECHANISM',
    meaning:
      'SASL: `SCRAM-SHA-512`, `SCRAM-SHA-256`, or `PLAIN`, which shows the password to the network where TLS is off',
    default: 'SCRAM-SHA-512',
  },
  { name: 'CALLS_KAFKA_USERNAME', meaning: 'user for SASL; unset: no SASL', default: null },
  { name: 'CALLS_KAFKA_PASSWORD', meaning: 'its password', default: null },
  {
    name: 'CALLS_KAFKA_OUTBOX_MAX_BYTES',
    meaning:
      'cap of the calls that wait in PostgreSQL while no broker takes them, some 70 to 400 bytes each; at the cap calls are counted and not sent',
    default: '4294967296',
  },
  {
    name: 'FETCH_JOBS',
    meaning:
      'workers fetch batches and background responses that no client fetched: `false`: never; `true`: a worker that knows no upstream does not start; unset: those do that know the upstreams',
    default: null,
  },
  {
    name: 'WORKER_HOST',
    meaning: "address of a worker's listener for `/metrics`, `/healthz` and `/readyz`",
    default: '127.0.0.1',
  },
  { name: 'WORKER_PORT', meaning: 'its port; unset: a worker does not listen', default: null },
  {
    name: 'PRICES_REFRESH',
    meaning: '`daily`: workers fetch newer prices once a day; `off`: only `prices update` brings them',
    default: 'daily',
  },
  {
    name: 'PRICES_URL',
    meaning: "where newer prices are fetched: genai-prices' `data.json`, version 2, or a copy of it",
    default: 'https://raw.githubusercontent.com/pydantic/genai-prices/main/prices/new_data/v2/data.json',
  },
  {
    name: 'PRICES_MODELS_DEV_URL',
    meaning:
      'where newer prices of models.dev are fetched: its `api.json`, or a copy of it; unset: its public place, but nowhere where `PRICES_URL` is set',
    default: null,
  },
  {
    name: 'PRICES_LITELLM_URL',
    meaning:
      "where newer prices of LiteLLM's list are fetched, or a copy of it; unset: its public place, but nowhere where `PRICES_URL` is set",
    default: null,
  },
  {
    name: 'PRICES_AZURE_URL',
    meaning:
      "where newer prices of Azure's own retail list are fetched, page by page; unset: its public place, but nowhere where `PRICES_URL` is set",
    default: null,
  },
  {
    name: 'STREAM_SHARDS',
    meaning: 'Redis streams that are counted side by side; each client has one',
    default: '1',
  },
  {
    name: 'UPSTREAM_HEADERS_TIMEOUT_MS',
    meaning: 'milliseconds to wait for the first byte of an answer',
    default: '600000',
  },
  {
    name: 'UPSTREAM_IDLE_TIMEOUT_MS',
    meaning: 'milliseconds to wait between two bytes of an answer',
    default: '300000',
  },
  { name: 'BODY_LIMIT_BYTES', meaning: 'largest request body', default: '104857600' },
  {
    name: 'KEY_GRACE_SECONDS',
    meaning: 'seconds for which known keys go on with the stores down',
    default: '3600',
  },
  { name: 'SHUTDOWN_GRACE_MS', meaning: 'milliseconds for running calls at SIGTERM', default: '30000' },
  {
    name: 'OTEL_EXPORTER_OTLP_ENDPOINT',
    meaning:
      'a collector of OpenTelemetry, `http://collector:4318`: gateways send spans of calls there, gateways and workers metrics; unset: nowhere',
    default: null,
  },
  {
    name: 'OTEL_EXPORTER_OTLP_HEADERS',
    meaning: 'headers for it, `name=value` and more after commas, percent-encoded',
    default: null,
  },
  {
    name: 'OTEL_METRICS_EXPORTER',
    meaning: '`none`: metrics are not sent there',
    default: 'otlp',
  },
  { name: 'OTEL_SERVICE_NAME', meaning: 'the name of the gateways there', default: 'tallygate' },
  {
    name: 'OTEL_RESOURCE_ATTRIBUTES',
    meaning: 'what else is said of them, `name=value` and more after commas',
    default: null,
  },
  {
    name: 'OTEL_TRACES_SAMPLER',
    meaning:
      'which traces are sent: `always_on`, `always_off`, `traceidratio`, or one of them behind `parentbased_`',
    default: 'parentbased_always_on',
  },
  {
    name: 'OTEL_TRACES_SAMPLER_ARG',
    meaning: 'the part of traces that `traceidratio` sends, from 0 to 1',
    default: '1',
  },
  {
    name: 'OTEL_SDK_DISABLED',
    meaning: '`true`: nothing is sent there, whatever else is set',
    default: 'false',
  },
  { name: 'LOG_LEVEL', meaning: 'pino level; calls are logged one line each at `debug`', default: 'info' },
] as const satisfies readonly EnvironmentVariable[]

export type EnvironmentName = (typeof ENVIRONMENT)[number]['name']

/** The environment as given: `process.env`, or a test's. */
export type Environment = Readonly<Record<string, string | undefined>>

const DEFAULTS: ReadonlyMap<string, string | null> = new Map(
  ENVIRONMENT.map((variable) => [variable.name, variable.default]),
)

/** The variable's text, else its default, else `null`. An empty variable counts as unset. */
export function readVariable(env: Environment, name: EnvironmentName): string | null {
  return env[name] || (DEFAULTS.get(name) ?? null)
}
