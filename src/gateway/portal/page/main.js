import {
  ask,
  askFile,
  askPart,
  dropToken,
  hasToken,
  NotSignedIn,
  signIn,
  signOut,
  takeTokenOfAddress,
} from './api.js'
import { drawChart, MEASURES } from './chart.js'
import { byId, choice, element } from './elements.js'
import { exactUsd, plural, roughly, usd } from './format.js'
import { drawCalls, drawKeys, drawLimits, drawModels, drawRefused, drawUsage, GROUPS } from './parts.js'

const PERIODS = [
  { value: 'today', label: 'Today', query: { days: 1 } },
  { value: 'month', label: 'This month', query: { period: 'month' } },
  { value: '30d', label: '30 days', query: { days: 30 } },
]
const CHART_DAYS = 30
const REFUSED_DAYS = 30
const CALLS = 25
/** The page is read, and not watched. */
const EVERY_MS = 60_000

const chosen = { period: 'month', measure: MEASURES[0], group: GROUPS[0] }
/** What was answered last; absent: nothing yet. */
let figures = {}
/** A round that is not the newest draws nothing. */
let round = 0
let timer = 0

function periodOf(value) {
  return PERIODS.find((period) => period.value === value)
}

/** Parts load and fail alone. */
function parts() {
  return [
    ...PERIODS.map(({ value, label, query }) => [label, value, () => ask('usage', query)]),
    ['Limits', 'limits', () => ask('limits')],
    ['Chart', 'byDay', () => ask('usage', { days: CHART_DAYS, group_by: 'day' })],
    ['Usage', 'grouped', askGrouped],
    ['Calls', 'calls', () => askPart('calls', { limit: CALLS })],
    ['Refused calls', 'refused', () => ask('refused', { days: REFUSED_DAYS })],
    ['Keys', 'keys', () => ask('keys')],
    // They change once a day at most.
    ...(figures.models === undefined ? [['Models', 'models', () => ask('models')]] : []),
  ]
}

function askGrouped() {
  return ask('usage', { ...periodOf(chosen.period).query, group_by: chosen.group.value })
}

async function load() {
  clearTimeout(timer)
  const own = ++round
  const problems = []
  for (const [name, key, askPartOf] of parts()) {
    try {
      const answer = await askPartOf()
      if (own !== round) return
      figures[key] = answer
      draw()
    } catch (error) {
      if (own !== round) return
      if (error instanceof NotSignedIn) {
        showSignIn(error.message)
        return
      }
      problems.push(`${name}: ${messageOf(error)}`)
    }
  }
  showProblems(problems)
  if (problems.length === 0)
    byId('updated').textContent = `as of ${new Date().toISOString().slice(11, 16)} UTC`
  if (!document.hidden) timer = setTimeout(load, EVERY_MS)
}

/** What `fetch` throws has no words for people. */
function messageOf(error) {
  if (error.name === 'TimeoutError') return 'The gateway took too long.'
  return error instanceof TypeError ? 'The gateway does not answer.' : error.message
}

function showProblems(problems) {
  byId('problem').hidden = problems.length === 0
  byId('problem').textContent = problems.join(' ')
}

function draw() {
  const { limits, byDay, grouped, calls, refused, models, keys } = figures
  byId('figures').hidden = false
  const client = PERIODS.map(({ value }) => figures[value]?.client).find((name) => name !== undefined)
  if (client !== undefined) byId('client').textContent = client
  drawTotals()
  choice(
    byId('measures'),
    MEASURES.map(({ value, label }) => ({ value, content: [label] })),
    chosen.measure.value,
    (value) => {
      chosen.measure = MEASURES.find((measure) => measure.value === value)
      draw()
    },
  )
  choice(
    byId('groups'),
    GROUPS.map(({ value, heading }) => ({ value, content: [heading] })),
    chosen.group.value,
    (value) => {
      chosen.group = GROUPS.find((group) => group.value === value)
      regroup()
    },
  )
  if (byDay !== undefined) {
    byId('chart-title').textContent = chosen.measure.title
    const chosenDays = figures[chosen.period]?.period_days ?? CHART_DAYS
    drawChart(byId('chart'), { rows: byDay.data, days: CHART_DAYS, chosenDays, measure: chosen.measure })
  }
  if (grouped !== undefined) drawUsage(byId('usage'), grouped.data, chosen.group)
  if (limits !== undefined) drawLimits(byId('limits'), limits)
  if (calls !== undefined) {
    drawCalls(byId('calls'), calls.items)
    byId('more-calls').hidden = calls.next === null
  }
  if (refused !== undefined) drawRefused(byId('refused'), refused)
  if (models !== undefined) drawModels(byId('models'), models)
  if (keys !== undefined) drawKeys(byId('keys'), keys)
}

function drawTotals() {
  choice(
    byId('totals'),
    PERIODS.map(({ value, label }) => {
      const summary = figures[value]
      return {
        value,
        content: [
          element('span', { class: 'label' }, label),
          element(
            'span',
            { class: 'amount', title: summary === undefined ? null : exactUsd(summary.cost_usd) },
            summary === undefined ? '…' : usd(summary.cost_usd),
          ),
          element(
            'span',
            { class: 'facts' },
            summary === undefined
              ? ''
              : `${plural(summary.requests, 'request')} · ${roughly(summary.total_tokens)} tokens`,
          ),
        ],
      }
    }),
    chosen.period,
    (value) => {
      chosen.period = value
      regroup()
    },
  )
}

/** Asks again for the one part that depends on what was chosen. */
async function regroup() {
  draw()
  await attempt('Usage', async () => {
    const group = chosen.group
    const period = chosen.period
    const answer = await askGrouped()
    if (group !== chosen.group || period !== chosen.period) return
    figures.grouped = answer
    draw()
  })
}

async function attempt(name, work) {
  try {
    await work()
    showProblems([])
  } catch (error) {
    if (error instanceof NotSignedIn) showSignIn(error.message)
    else showProblems([`${name}: ${messageOf(error)}`])
  }
}

function showSignIn(problem = '') {
  clearTimeout(timer)
  round += 1
  dropToken()
  figures = {}
  byId('figures').hidden = true
  byId('sign-out').hidden = true
  byId('sign-in').hidden = false
  byId('client').textContent = 'Usage'
  byId('updated').textContent = ''
  byId('sign-in-problem').textContent = problem
  showProblems([])
  byId('key').focus()
}

function showFigures() {
  byId('sign-in').hidden = true
  byId('sign-out').hidden = false
  load()
}

byId('sign-in').addEventListener('submit', async (event) => {
  event.preventDefault()
  const key = byId('key').value.trim()
  byId('sign-in-problem').textContent = ''
  try {
    await signIn(key)
    byId('key').value = ''
    showFigures()
  } catch (error) {
    byId('sign-in-problem').textContent =
      error instanceof NotSignedIn ? 'That is not an API key of this gateway.' : messageOf(error)
  }
})
byId('sign-out').addEventListener('click', async () => {
  await signOut()
  showSignIn()
})
byId('more-calls').addEventListener('click', () =>
  attempt('Calls', async () => {
    const { items, next } = figures.calls
    const part = await askPart('calls', { limit: CALLS, cursor: next })
    figures.calls = { items: [...items, ...part.items], next: part.next }
    draw()
  }),
)
byId('csv').addEventListener('click', () =>
  attempt('CSV', async () => {
    const days = figures[chosen.period]?.period_days ?? CHART_DAYS
    const today = Date.now()
    const from = new Date(today - (days - 1) * 86_400_000).toISOString().slice(0, 10)
    const to = new Date(today).toISOString().slice(0, 10)
    const url = URL.createObjectURL(await askFile('usage/export', { from, to }))
    element('a', { href: url, download: `usage-${from}-${to}.csv` }).click()
    setTimeout(() => URL.revokeObjectURL(url), EVERY_MS)
  }),
)
document.addEventListener('visibilitychange', () => {
  if (!document.hidden && hasToken()) load()
})
window.addEventListener('hashchange', () => {
  takeTokenOfAddress()
  if (hasToken()) showFigures()
})
new ResizeObserver(() => {
  if (figures.byDay !== undefined) draw()
}).observe(byId('chart'))

takeTokenOfAddress()
if (hasToken()) showFigures()
else showSignIn()
