import { picoToUsdNumber } from '../../domain/pico-usd.ts'
import { addDays } from '../../domain/utc-day.ts'
import { amountAt, type BudgetPeriod, type Limit, type LimitKind } from '../../limits/limit.ts'
import type { ShownLimit, SpentOfLimit } from '../../limits/limit-document.ts'
import { showLimits } from '../../limits/shown-limits.ts'
import { selectSpent } from '../../limits/spent/select-spent.ts'
import type { Postgres } from '../../store/connection/postgres.ts'
import { SCHEMA } from '../../store/connection/schema.ts'
import type { AskingKey } from './asking-key.ts'

/** What is asked of a key: who asks, and the limits that hold for its calls. */
export interface KeyRequest {
  readonly asking: AskingKey
  readonly limits: readonly Limit[]
  /** Milliseconds since 1970. */
  readonly nowMs: number
}

interface StoredKey {
  readonly prefix: string
  readonly createdAt: Date
  readonly expiresAt: Date | null
  readonly lastUsedAt: Date | null
  readonly clientCreatedAt: Date
}

/** What was spent of all time, pico-USD, and of each limit that holds. */
interface Figures {
  readonly keyPico: bigint
  readonly clientPico: bigint
  readonly limits: readonly ShownLimit[]
}

/** All days that there are. */
const FIRST_DAY = '1970-01-01'

/** As LiteLLM writes the periods of budgets; one for all time has none. */
const DURATIONS: Readonly<Record<BudgetPeriod, string | null>> = {
  day: '1d',
  week: '7d',
  month: '1mo',
  total: null,
}

/** The answer of `/key/info`. @throws When Postgres is away: never a wrong number. */
export async function answerKey(pool: Postgres, request: KeyRequest): Promise<object> {
  const [stored, figures] = await Promise.all([selectKey(pool, request), selectFigures(pool, request)])
  return { key: request.asking.name, info: keyDocument(request, stored, figures) }
}

/** The answer of `/user/info`: its client, and the one key that asks. @throws Likewise. */
export async function answerUser(pool: Postgres, request: KeyRequest): Promise<object> {
  const [stored, figures] = await Promise.all([selectKey(pool, request), selectFigures(pool, request)])
  const { caller, name } = request.asking
  return {
    user_id: caller.clientId,
    user_info: clientDocument(request, stored, figures),
    keys: [{ token: name, ...keyDocument(request, stored, figures) }],
    teams: [],
  }
}

/** The answer of `/v2/user/info`: its client alone. @throws Likewise. */
export async function answerClientAlone(pool: Postgres, request: KeyRequest): Promise<object> {
  const [stored, figures] = await Promise.all([selectKey(pool, request), selectFigures(pool, request)])
  return clientDocument(request, stored, figures)
}

function clientDocument({ asking, nowMs }: KeyRequest, stored: StoredKey | null, figures: Figures): object {
  const { clientId, clientName } = asking.caller
  return {
    user_id: clientId,
    user_alias: clientName,
    user_role: 'internal_user',
    user_email: null,
    teams: [],
    models: [],
    ...limitMembers(figures, nowMs, false),
    created_at: stored?.clientCreatedAt.toISOString() ?? null,
  }
}

function keyDocument({ asking, nowMs }: KeyRequest, stored: StoredKey | null, figures: Figures): object {
  const { caller } = asking
  return {
    key_name: stored === null ? null : `${stored.prefix}...`,
    key_alias: caller.keyName,
    user_id: caller.clientId,
    team_id: null,
    organization_id: null,
    models: caller.models ?? [],
    aliases: {},
    config: {},
    permissions: {},
    blocked: false,
    status: 'active',
    expires: stored?.expiresAt?.toISOString() ?? null,
    created_at: stored?.createdAt.toISOString() ?? null,
    last_active: stored?.lastUsedAt?.toISOString() ?? null,
    ...limitMembers(figures, nowMs, true),
  }
}

/** Limits and what was spent of them. @param areOfKey Those of the key alone, else those of its client. */
function limitMembers(figures: Figures, nowMs: number, areOfKey: boolean): object {
  const limits = figures.limits.filter(({ limit }) => (limit.keyId !== null) === areOfKey)
  const budgets = limits.flatMap(({ limit, spent }) => (spent === null ? [] : [{ limit, spent }]))
  const amount = ({ limit }: { readonly limit: Limit }) => amountAt(limit, nowMs)
  const left = (budget: { readonly limit: Limit; readonly spent: SpentOfLimit }) =>
    amount(budget) - budget.spent.pico
  const hard = budgets
    .filter(({ limit }) => !limit.isSoft && limit.model === null)
    // The one that refuses first.
    .sort((a, b) => (left(a) < left(b) ? -1 : 1))
  const [main] = hard
  const soft = budgets.find(({ limit }) => limit.isSoft && limit.model === null)
  const ofModels = budgets.filter(({ limit }) => !limit.isSoft && limit.model !== null)
  const rate = (kind: LimitKind) => {
    const found = limits.filter(({ limit }) => limit.kind === kind && limit.model === null)
    return found.length === 0 ? null : Math.min(...found.map((limit) => Number(amount(limit))))
  }
  const ratesOf = (kind: LimitKind) =>
    Object.fromEntries(
      limits.flatMap(({ limit }) =>
        limit.kind === kind && limit.model !== null ? [[limit.model, Number(amount({ limit }))]] : [],
      ),
    )
  return {
    spend: picoToUsdNumber(main?.spent.pico ?? (areOfKey ? figures.keyPico : figures.clientPico)),
    max_budget: main === undefined ? null : picoToUsdNumber(amount(main)),
    budget_duration: durationOf(main),
    budget_reset_at: resetOf(main),
    soft_budget: soft === undefined ? null : picoToUsdNumber(amount(soft)),
    rpm_limit: rate('requests'),
    tpm_limit: rate('tokens'),
    max_parallel_requests: rate('concurrent'),
    budget_limits: hard.map((budget) => ({
      budget_duration: durationOf(budget),
      max_budget: picoToUsdNumber(amount(budget)),
      current_spend: picoToUsdNumber(budget.spent.pico),
      reset_at: resetOf(budget),
    })),
    model_max_budget: Object.fromEntries(
      ofModels.map((budget) => [
        budget.limit.model,
        { budget_limit: picoToUsdNumber(amount(budget)), time_period: durationOf(budget) },
      ]),
    ),
    model_max_budget_usage: Object.fromEntries(
      ofModels.map((budget) => [
        budget.limit.model,
        { current_spend: picoToUsdNumber(budget.spent.pico), budget_reset_at: resetOf(budget) },
      ]),
    ),
    metadata: { model_rpm_limit: ratesOf('requests'), model_tpm_limit: ratesOf('tokens') },
  }
}

function durationOf(budget: { readonly limit: Limit } | undefined): string | null {
  const per = budget?.limit.per ?? null
  return per === null ? null : DURATIONS[per]
}

function resetOf(budget: { readonly spent: SpentOfLimit } | undefined): string | null {
  const toDay = budget?.spent.period.toDay ?? null
  return toDay === null ? null : `${addDays(toDay, 1)}T00:00:00.000Z`
}

async function selectKey(pool: Postgres, { asking }: KeyRequest): Promise<StoredKey | null> {
  const { rows } = await pool.query<StoredKey>(
    `select k.prefix, k.created_at as "createdAt", k.expires_at as "expiresAt", k.last_used_at as "lastUsedAt",
       c.created_at as "clientCreatedAt"
     from ${SCHEMA}.keys k join ${SCHEMA}.clients c on c.id = k.client_id where k.id = $1 and c.id = $2`,
    [asking.caller.keyId, asking.caller.clientId],
  )
  return rows[0] ?? null
}

async function selectFigures(pool: Postgres, { asking, limits, nowMs }: KeyRequest): Promise<Figures> {
  const { clientId, keyId } = asking.caller
  const always = { clientId, model: null, fromDay: FIRST_DAY, toDay: null }
  const [spent, shown] = await Promise.all([
    selectSpent(
      pool,
      [
        { ...always, keyId },
        { ...always, keyId: null },
      ],
      [],
    ),
    showLimits(
      pool,
      limits.map((limit) => ({ limit, client: null })),
      clientId,
      nowMs,
    ),
  ])
  const [keyPico = 0n, clientPico = 0n] = spent.spentPico
  return { keyPico, clientPico, limits: shown }
}
