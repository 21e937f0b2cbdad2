import { RECORD_FIELDS } from '../../src/call/record-fields.ts'
import {
  FIELD_COLUMNS,
  type FieldColumn,
  TOKEN_COUNT_COLUMNS,
  UNIT_COUNT_COLUMNS,
} from '../../src/usage/calls/call-columns.ts'
import { KEY_OF_CALL } from '../../src/usage/daily-key.ts'
import { KEY_DIMENSIONS } from '../../src/usage/dimensions.ts'
import { memberOf } from '../../src/usage/events/call-event.ts'
import { EXPORT_COLUMNS } from '../../src/usage/export/export-columns.ts'
import { CORRECTIONS, METRICS } from '../../src/usage/metrics-table.ts'

/** Exact: no float holds a picodollar beside a million dollars. */
const USD = 'Decimal(38, 12)'
const SCALE = 12

/** A column of `call_events`. */
interface Column {
  readonly name: string
  /** In the table. */
  readonly type: string
  /** As the event's member is read. */
  readonly member: string
  /** From the member `d.NAME`. */
  readonly value: string
}

function column(name: string, type: string, member = type, value = `d.${name}`): Column {
  return { name, type, member, value }
}

const NULLABLE_TEXT = 'Nullable(String)'

/** Those that a client has few of are kept once each. */
function textColumn({ name, column: named, place }: FieldColumn): Column {
  const isNull = RECORD_FIELDS[name].absent !== 'never'
  const type = isNull ? NULLABLE_TEXT : 'String'
  return column(named, place === 'kind' ? `LowCardinality(${type})` : type, type)
}

function columnOf(field: FieldColumn): Column {
  const { column: named, form } = field
  switch (form) {
    case 'pico': {
      const name = memberOf(named)
      return column(name, `Nullable(${USD})`, NULLABLE_TEXT, `toDecimal128OrNull(d.${name}, ${SCALE})`)
    }
    // Three decimals, of a number that JSON has as such.
    case 'microseconds':
      return column(named, 'Nullable(Decimal(18, 3))', NULLABLE_TEXT, `toDecimal64OrNull(d.${named}, 3)`)
    case 'integer':
      return column(named, 'Nullable(Int32)')
    case 'bytes':
      return column(named, 'Nullable(Int64)')
    case 'flag':
      return column(named, 'Bool')
    case 'id':
      return column(named, 'Nullable(UUID)')
    case 'time':
      return column(
        named,
        "Nullable(DateTime64(3, 'UTC'))",
        NULLABLE_TEXT,
        `parseDateTime64BestEffortOrNull(d.${named}, 3, 'UTC')`,
      )
    case 'text':
    case 'word':
    case 'trace':
      return textColumn(field)
    default:
      return form satisfies never
  }
}

/** What the envelope has, under the names of `calls`. */
const ENVELOPE: Readonly<Record<string, string>> = { call_id: 'id', arrived_at: 'time', client_id: 'subject' }

const COLUMNS: readonly Column[] = [
  column('client', 'LowCardinality(String)', 'String'),
  column('key', 'LowCardinality(Nullable(String))', NULLABLE_TEXT),
  ...FIELD_COLUMNS.filter(({ column: named }) => !(named in ENVELOPE)).map(columnOf),
  ...[...TOKEN_COUNT_COLUMNS, ...UNIT_COUNT_COLUMNS].map(({ column: named }) =>
    column(named, 'Nullable(Int64)'),
  ),
  column('fetched_by_client_id', NULLABLE_TEXT),
  column('fetched_by_key_id', NULLABLE_TEXT),
  column('told_by', 'Nullable(UUID)'),
  column('settles', 'Nullable(UUID)'),
]

const lines = (texts: readonly string[], indent: string) => texts.join(`,\n${indent}`)

const KEY_COLUMNS = KEY_DIMENSIONS.map(({ column: named }) => named)
const KEY = KEY_COLUMNS.join(', ')
/** The dimensions of the row that an adjustment is for, but for the client, who is its subject, and the day. */
const ROW_MEMBERS = KEY_COLUMNS.filter((named) => named !== 'client_id' && named !== 'day')

const EXPORTED = METRICS.filter(({ release, field }) => release !== null && field !== 'costPico')

/** The sum of a metric without what corrections take from it: a member of adjustments. */
function corrected(field: string, sum: string): string {
  const taken = CORRECTIONS.filter(({ of, sign }) => of === field && sign === '-')
  return [sum, ...taken.map(({ entry }) => `sum(${entry})`)].join(' - ')
}

/** `examples/clickhouse/tables.sql`. */
export function renderTables(): string {
  return `-- Written by \`npm run clickhouse\` from the fields of a call and the columns of its totals.
create database if not exists tallygate;

-- Events pass through here, from Kafka or from a file; it keeps none.
create table if not exists tallygate.events (json String) engine = Null;

-- One row for each event, until a merge one for each time that it came: read the view \`calls\`.
create table if not exists tallygate.call_events (
  subject String,
  id UUID,
  time DateTime64(3, 'UTC'),
  ${lines(
    COLUMNS.map(({ name, type }) => `${name} ${type}`),
    '  ',
  )}
) engine = ReplacingMergeTree
partition by toYYYYMM(time)
order by (subject, toDate(time), id);

create materialized view if not exists tallygate.call_events_of to tallygate.call_events as
select subject, id, time,
  ${lines(
    COLUMNS.map(({ name, value }) => `${value} as ${name}`),
    '  ',
  )}
from (
  select JSONExtractString(json, 'subject') as subject, toUUID(JSONExtractString(json, 'id')) as id,
    parseDateTime64BestEffort(JSONExtractString(json, 'time'), 3, 'UTC') as time,
    JSONExtract(json, 'data', 'Tuple(
      ${lines(
        COLUMNS.map(({ name, member }) => `${name} ${member}`),
        '      ',
      )})') as d
  from tallygate.events where JSONExtractString(json, 'type') = 'tallygate.call');

-- What an adjustment comes to in one row of totals: of the events of one \`entry_id\` the latest holds.
create table if not exists tallygate.adjustment_events (
  subject String,
  day Date,
  entry_id UUID,
  time DateTime64(6, 'UTC'),
  kind LowCardinality(String),
  adjustment_id Nullable(Int64),
  call_id Nullable(UUID),
  client LowCardinality(String),
  key LowCardinality(Nullable(String)),
  ${lines(
    ROW_MEMBERS.map((name) => `${name} LowCardinality(String)`),
    '  ',
  )},
  adjusted_usd ${USD},
  priced_calls Int64,
  who String,
  why String
) engine = ReplacingMergeTree(time)
partition by toYYYYMM(day)
order by (subject, day, entry_id);

create materialized view if not exists tallygate.adjustment_events_of to tallygate.adjustment_events as
select subject, toDate(d.day) as day, d.entry_id as entry_id, time, d.kind as kind,
  toInt64OrNull(d.adjustment_id) as adjustment_id, d.call_id as call_id, d.client as client, d.key as key,
  ${lines(
    ROW_MEMBERS.map((name) => `d.${name} as ${name}`),
    '  ',
  )},
  toDecimal128OrZero(d.adjusted_usd, ${SCALE}) as adjusted_usd, d.priced_calls as priced_calls, d.who as who,
  d.why as why
from (
  select JSONExtractString(json, 'subject') as subject,
    parseDateTime64BestEffort(JSONExtractString(json, 'time'), 6, 'UTC') as time,
    JSONExtract(json, 'data', 'Tuple(
      day String,
      entry_id UUID,
      kind String,
      adjustment_id String,
      call_id Nullable(UUID),
      client String,
      key Nullable(String),
      ${lines(
        ROW_MEMBERS.map((name) => `${name} String`),
        '      ',
      )},
      adjusted_usd String,
      priced_calls Int64,
      who String,
      why String)') as d
  from tallygate.events where JSONExtractString(json, 'type') = 'tallygate.adjustment');

create view if not exists tallygate.adjustments as
select * from tallygate.adjustment_events final;

-- Each call once, with the columns of \`calls\` in PostgreSQL; amounts are USD.
create view if not exists tallygate.calls as
select toDate(time) as day, id as call_id, time as arrived_at, subject as client_id,
  ${lines(
    COLUMNS.map(({ name }) => name),
    '  ',
  )},
  id in (select assumeNotNull(call_id) from tallygate.adjustment_events where kind = 'settled') as settled
from tallygate.call_events final;

-- The totals of \`usage export\`, with corrections.
create view if not exists tallygate.daily as
select ${KEY}, max(row_provider) as provider,
  ${lines(
    EXPORTED.map(({ field, column: named }) => `toInt64(${corrected(field, `sum(m_${named})`)}) as ${named}`),
    '  ',
  )},
  sum(m_cost) as metered_usd,
  sum(m_adjusted) as adjusted_usd,
  sum(m_cost) + sum(m_adjusted) as cost_usd
from (
  select ${KEY_OF_CALL}, min(c.provider) as row_provider,
    ${lines(
      EXPORTED.map(({ recount, column: named }) => `${recount} as m_${named}`),
      '    ',
    )},
    coalesce(sum(cost_usd), 0) as m_cost, toDecimal128(0, ${SCALE}) as m_adjusted, 0 as priced_calls
  from (
    select *, cost_usd as cost_pico, if(web_socket, null, toInt64(latency_ms * 1000)) as latency_us
    from tallygate.calls) c
  group by ${KEY}
  union all
  select ${KEY_COLUMNS.map((named) => (named === 'client_id' ? 'subject as client_id' : named)).join(', ')}, '' as row_provider,
    ${lines(
      EXPORTED.map(({ column: named }) => `0 as m_${named}`),
      '    ',
    )},
    toDecimal128(0, ${SCALE}) as m_cost, adjusted_usd as m_adjusted, priced_calls
  from tallygate.adjustments where kind <> 'settled')
group by ${KEY};

-- \`usage export --format jsonl\`, for check.sql.
create table if not exists tallygate.ledger_days (
  ${lines(
    EXPORT_COLUMNS.map(({ name, kind }) => `${name} ${LEDGER_TYPES[kind]}`).map((text) =>
      text.startsWith('day ') ? 'day Date' : text,
    ),
    '  ',
  )}
) engine = MergeTree order by day;
`
}

const LEDGER_TYPES = { text: NULLABLE_TEXT, count: 'Int64', usd: USD } as const

/** `examples/clickhouse/check.sql`. */
export function renderCheck(): string {
  const summed = EXPORT_COLUMNS.filter(({ kind }) => kind !== 'text').map(({ name }) => name)
  const key = KEY_COLUMNS.map((named) =>
    named === 'day' ? named : `coalesce(toString(${named}), '') as ${named}`,
  )
  return `-- Written by \`npm run clickhouse\`. Rows of totals that differ, ClickHouse's less the ledger's: there should be none.
select ${KEY},
  ${lines(
    summed.map((name) => `sum(d_${name}) as ${name}`),
    '  ',
  )}
from (
  select ${KEY_COLUMNS.map((named) => (named === 'day' ? named : `toString(${named}) as ${named}`)).join(', ')},
    ${lines(
      summed.map((name) => `${name} as d_${name}`),
      '    ',
    )}
  from tallygate.daily
  where day between (select min(day) from tallygate.ledger_days) and (select max(day) from tallygate.ledger_days)
  union all
  select ${key.join(', ')},
    ${lines(
      summed.map((name) => `-${name} as d_${name}`),
      '    ',
    )}
  from tallygate.ledger_days)
group by ${KEY}
having ${lines(
    summed.map((name) => `${name} <> 0`),
    ' ',
  ).replaceAll(',\n ', '\n  or ')}
order by ${KEY};
`
}
