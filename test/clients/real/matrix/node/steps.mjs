// What every program does: each step is announced, and what it had is printed as one line of JSON.
export const { BASE, KEY, SPENT, WRONG, CONTROL, FAMILY } = process.env
export const NO_MODEL = 'no-such-model'
export const HI = 'hi'
export const CLOCK = 'What time is it in Paris?'
export const BREAK = 'Please hang up.'
export const SCHEMA = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
export const TOOL = { name: 'get_time', description: 'The time of a city', parameters: SCHEMA }
export const asked = (prompt) => [{ role: 'user', content: prompt }]

export async function step(name, run) {
  await (await fetch(`${CONTROL}/${name}`)).text()
  let found
  try {
    found = { result: await run() }
  } catch (error) {
    found = {
      error: error.constructor.name === 'Error' ? error.name : error.constructor.name,
      status: error.status ?? error.statusCode ?? error.$metadata?.httpStatusCode ?? null,
      text: error.message,
    }
  }
  console.log(`STEP ${JSON.stringify({ step: name, ...found })}`)
}

/** `chat(key, model, prompt)`, refused in three ways. */
export async function refusals(chat) {
  await step('wrong_key', () => chat(WRONG, undefined, HI))
  await step('no_model', () => chat(KEY, NO_MODEL, HI))
  await step('spent', () => chat(SPENT, undefined, HI))
}
