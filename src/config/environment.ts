/** A variable that tallygate reads from its environment. */
export interface EnvironmentVariable {
  readonly name: string
  readonly meaning: string
  /** As text, parsed like a value from outside; `null`: unset, or decided elsewhere. */
  readonly default: string | null
}

/** What each variable means, and its default where it has one, in the order in which docs/configuration.md lists them. */
const VARIABLES = {
  HOST: ['address to listen on; 127.0.0.1 for `npm start`', '0.0.0.0'],
  PORT: ['port to listen on', '8080'],
  BASE_PATH: 'path prefix of the base URL, such as `/llm`',
  PUBLIC_URL: "base URL in addresses that stand in place of the upstream's; unset: as the client wrote it",
  CORS_ORIGINS:
    'origins of web pages that may call the gateway, `https://app.example.com` and more after commas; `*`: all; unset: none',
  TLS_CERT_FILE: 'certificate chain in PEM; serve HTTPS',
  TLS_KEY_FILE: 'private key in PEM; serve HTTPS',
  UPSTREAM_URL: 'the backend; path and query are appended, a trailing `/v1` is not doubled',
  UPSTREAM_API_KEY: "credential sent upstream in place of the client's key; unset: none is sent",
  UPSTREAM_PROVIDER: 'whose wire format and prices; unset: known from the host, else `openai-compatible`',
  UPSTREAM_CREDENTIALS:
    "`aws`, `google` or `azure`: the cloud's own credentials in place of a key, as its tools find them; unset: none",
  TALLYGATE_CONFIG: 'YAML file: several upstreams, models shown, price overrides',
  REDIS_URL: 'Redis: one server, a socket, Sentinels or a cluster; required by gateway and worker',
  DATABASE_URL: 'PostgreSQL, a URL of libpq, also with several hosts; required by gateway and worker',
  DATABASE_READ_URL:
    "a streaming replica that operators' reports and exports are read from; unset: the primary",
  REDIS_PREFIX: ['prefix of every Redis key', 'tallygate:'],
  JOURNAL_DIR: "the gateway's disk journal; unset: `journal` in TALLYGATE_DATA_DIR",
  JOURNAL_MAX_BYTES: ['cap of what the journal holds uncommitted; at the cap calls get 503', '1073741824'],
  JOURNAL_KEEP_SECONDS: [
    'how far PostgreSQL may be restored to an earlier state, by failover or backup, and be refilled from the journals; some 800 bytes a call',
    '300',
  ],
  ON_JOURNAL_FULL: [
    '`refuse` calls that cannot be recorded, or let them pass `unmetered`: counted in `tallygate_unmetered_calls_total`, a warning each',
    'refuse',
  ],
  ADMIN_HOST: ["address of the operator's listener", '127.0.0.1'],
  ADMIN_PORT: ["port of the operator's listener", '8081'],
  ADMIN_TOKEN: 'bearer token for `/admin/v1/*` and the dashboard; unset: both answer 404',
  PORTAL_PORT:
    "port of the clients' page, on HOST: clients see their own usage, limits and calls there; unset: there is none, 8082 for `npm start`",
  PORTAL_EMBED_ORIGINS:
    "origins of pages that may show the clients' page in theirs, `https://app.example.com` and more after commas; unset: none",
  METRICS_CLIENTS: [
    'clients that `/metrics` names with their calls and cost, those that cost most, and the rest as `other`; 0: none',
    '0',
  ],
  KEY_NETWORKS: [
    'networks (/24, /48) that each key is used from are kept for 90 days: by the `peer` that connects, by the last `x-forwarded-for` of a proxy before the gateway, or `off`',
    'peer',
  ],
  ON_CLIENT_ABORT: [
    '`cancel` the upstream call of a client that left where its bytes tell what it cost, or `drain` every one to its end',
    'cancel',
  ],
  GATEWAY_PROCESSES: ['processes sharing the port', '1'],
  TALLYGATE_DATA_DIR: ['where `npm start` keeps everything', '.tallygate'],
  KEY_PEPPER: 'secret mixed into the hashes of keys at rest; `new,old` while changing it',
  CALL_RETENTION_DAYS: ['days for which single calls are kept beside the daily totals; 0: not at all', '35'],
  AXIS_VALUES_PER_DAY: [
    'values of a client on one of the `axes` and day that have totals of their own; the rest is `(other)`',
    '2000',
  ],
  CALL_ALERT_USD: [
    'a single call that costs more US dollars is booked, flagged, logged as an error and named by `doctor`; 0: none is',
    '1000',
  ],
  CALLS_KAFKA_BROKERS:
    'brokers of Kafka, `host:port` and more of them after commas: workers send single calls there too; unset: nowhere',
  CALLS_KAFKA_TOPIC: ['the topic, which has to exist', 'tallygate.calls'],
  CALLS_KAFKA_TLS: ['`true`: connect by TLS, with the certificates that Node trusts', 'false'],
  CALLS_KAFKA_CA_FILE: 'certificates in PEM that are trusted in place of those',
  CALLS_KAFKA_CERT_FILE: 'certificate chain in PEM that the brokers know the workers by',
  CALLS_KAFKA_KEY_FILE: 'its private key in PEM',
  CALLS_KAFKA_MECHANISM: [
    'SASL: `SCRAM-SHA-512`, `SCRAM-SHA-256`, or `PLAIN`, which shows the password to the network where TLS is off',
    'SCRAM-SHA-512',
  ],
  CALLS_KAFKA_USERNAME: 'user for SASL; unset: no SASL',
  CALLS_KAFKA_PASSWORD: 'its password',
  CALLS_KAFKA_OUTBOX_MAX_BYTES: [
    'cap of the calls that wait in PostgreSQL while no broker takes them, some 70 to 400 bytes each; at the cap calls are counted and not sent',
    '4294967296',
  ],
  FETCH_JOBS:
    'workers fetch batches and background responses that no client fetched: `false`: never; `true`: a worker that knows no upstream does not start; unset: those do that know the upstreams',
  WORKER_HOST: ["address of a worker's listener for `/metrics`, `/healthz` and `/readyz`", '127.0.0.1'],
  WORKER_PORT: 'its port; unset: a worker does not listen',
  PRICES_REFRESH: [
    '`daily`: workers fetch newer prices once a day; `off`: only `prices update` brings them',
    'daily',
  ],
  PRICES_URL: [
    "where newer prices are fetched: genai-prices' `data.json`, version 2, or a copy of it",
    'https://raw.githubusercontent.com/pydantic/genai-prices/main/prices/new_data/v2/data.json',
  ],
  PRICES_MODELS_DEV_URL:
    'where newer prices of models.dev are fetched: its `api.json`, or a copy of it; unset: its public place, but nowhere where `PRICES_URL` is set',
  PRICES_LITELLM_URL:
    "where newer prices of LiteLLM's list are fetched, or a copy of it; unset: its public place, but nowhere where `PRICES_URL` is set",
  PRICES_AZURE_URL:
    "where newer prices of Azure's own retail list are fetched, page by page; unset: its public place, but nowhere where `PRICES_URL` is set",
  STREAM_SHARDS: ['Redis streams that are counted side by side; each client has one', '1'],
  UPSTREAM_HEADERS_TIMEOUT_MS: ['milliseconds to wait for the first byte of an answer', '600000'],
  UPSTREAM_IDLE_TIMEOUT_MS: ['milliseconds to wait between two bytes of an answer', '300000'],
  BODY_LIMIT_BYTES: ['largest request body', '104857600'],
  KEY_GRACE_SECONDS: ['seconds for which known keys go on with the stores down', '3600'],
  SHUTDOWN_GRACE_MS: ['milliseconds for running calls at SIGTERM', '30000'],
  OTEL_EXPORTER_OTLP_ENDPOINT:
    'a collector of OpenTelemetry, `http://collector:4318`: gateways send spans of calls there, gateways and workers metrics; unset: nowhere',
  OTEL_EXPORTER_OTLP_HEADERS: 'headers for it, `name=value` and more after commas, percent-encoded',
  OTEL_METRICS_EXPORTER: ['`none`: metrics are not sent there', 'otlp'],
  OTEL_SERVICE_NAME: ['the name of the gateways there', 'tallygate'],
  OTEL_RESOURCE_ATTRIBUTES: 'what else is said of them, `name=value` and more after commas',
  OTEL_TRACES_SAMPLER: [
    'which traces are sent: `always_on`, `always_off`, `traceidratio`, or one of them behind `parentbased_`',
    'parentbased_always_on',
  ],
  OTEL_TRACES_SAMPLER_ARG: ['the part of traces that `traceidratio` sends, from 0 to 1', '1'],
  OTEL_SDK_DISABLED: ['`true`: nothing is sent there, whatever else is set', 'false'],
  LOG_LEVEL: ['pino level; calls are logged one line each at `debug`', 'info'],
} as const satisfies Readonly<Record<string, string | readonly [meaning: string, fallback: string]>>

export type EnvironmentName = keyof typeof VARIABLES

/** Every variable there is. */
export const ENVIRONMENT: readonly EnvironmentVariable[] = Object.entries(VARIABLES).map(([name, said]) =>
  typeof said === 'string'
    ? { name, meaning: said, default: null }
    : { name, meaning: said[0], default: said[1] },
)

/** The environment as given: `process.env`, or a test's. */
export type Environment = Readonly<Record<string, string | undefined>>

const DEFAULTS: ReadonlyMap<string, string | null> = new Map(
  ENVIRONMENT.map((variable) => [variable.name, variable.default]),
)

/** The variable's text, else its default, else `null`. An empty variable counts as unset. */
export function readVariable(env: Environment, name: EnvironmentName): string | null {
  return env[name] || (DEFAULTS.get(name) ?? null)
}
