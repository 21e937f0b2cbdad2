import { chromium } from 'playwright-core'
import { BASE, BREAK, CONTROL, HI, KEY, refusals, step } from './steps.mjs'

// The package unpacks its browser into the temporary folder, which programs that run at once must not share.
process.env.TMPDIR = process.env.HOME
const { default: Chromium } = await import('@sparticuz/chromium')

// Flags of the package are for functions without a graphics card; without the others it asks servers of its maker.
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM || (await Chromium.executablePath()),
  args: [
    ...[
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
    ],
    ...['--disable-component-update', '--disable-sync'],
  ],
})
const page = await browser.newPage()
// A page of another origin than the gateway.
await page.goto(`${CONTROL}/page`)

/** What a page's own code has of one fetch. */
async function ask(path, key, body) {
  const found = await page.evaluate(
    async ([url, token, sent]) => {
      try {
        const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
        const answer = await fetch(url, sent === null ? { headers } : { method: 'POST', headers, body: sent })
        return { status: answer.status, text: await answer.text() }
      } catch (error) {
        return { failed: error.name }
      }
    },
    [`${BASE}${path}`, key, body],
  )
  if (found.failed) throw Object.assign(new Error('the page could not read it'), { name: found.failed })
  if (found.status !== 200)
    throw Object.assign(new Error(JSON.parse(found.text).error?.message ?? found.text), {
      name: 'Refused',
      status: found.status,
    })
  return found.text
}

const order = (model, prompt, stream) =>
  JSON.stringify({ model, stream, messages: [{ role: 'user', content: prompt }] })

async function chat(key = KEY, model = 'gpt-4o-mini', prompt = HI) {
  const { choices, usage } = JSON.parse(await ask('/v1/chat/completions', key, order(model, prompt, false)))
  return [choices[0].message.content, usage.prompt_tokens, usage.completion_tokens]
}

async function stream(prompt) {
  const text = await ask('/v1/chat/completions', KEY, order('gpt-4o-mini', prompt, true))
  return [...text.matchAll(/"content":"([^"]*)"/g)].map(([, content]) => content).join('')
}

await step('chat', () => chat())
await step('stream', () => stream(HI))
await step('models', async () => (await ask('/v1/models', KEY, null)).includes('gpt-4o-mini'))
await refusals(chat)
await step('hang_up', () => stream(BREAK))
await browser.close()
