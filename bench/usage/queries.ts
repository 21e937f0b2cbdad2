/** What clients ask of `GET /v1/usage`. */
export const CLIENT_QUERIES: readonly string[] = [30, 365].flatMap((days) =>
  ['', '&group_by=day', '&group_by=model', '&group_by=key', '&group_by=day,model'].map(
    (groups) => `/v1/usage?days=${days}${groups}`,
  ),
)

const GROUPS = ['', 'day', 'model', 'client', 'client,key', 'client,model', 'day,model']

/** What operators ask, the dashboard's own queries among them, below `/admin/v1/`. */
export const OPERATOR_QUERIES: readonly string[] = [
  ...[1, 7, 30, 365].flatMap((days) =>
    GROUPS.map((groups) => `usage?days=${days}${groups === '' ? '' : `&by=${groups}`}`),
  ),
  ...[30, 365].flatMap((days) =>
    ['client', 'client,key', 'client,model'].map((groups) => `usage?days=${days}&by=${groups}&limit=500`),
  ),
  'unpriced?days=30',
  'unpriced?days=365',
  'ledger',
  'ledger/gaps',
  'doctor',
  'clients',
  'keys',
  'keys?limit=500',
]

/** The command that is timed: all totals of a period as CSV. */
export const EXPORT = 'usage export --format csv --progress'
