/** What a page shows: its view, and what was chosen there. It stands behind # in the URL, where no server's log sees it. */
export interface Address {
  readonly view: string
  readonly query: Query
}

export type Query = Readonly<Record<string, string>>

/** What is said of a query as an object; what is empty or undefined is left out. */
export type Choices = Readonly<Record<string, string | number | boolean | undefined>>

/** @param hash As `location.hash` has it: `#/explore?period=7d`. */
export function parseAddress(hash: string): Address {
  const text = hash.replace(/^#\/?/, '')
  const end = text.indexOf('?')
  const view = end < 0 ? text : text.slice(0, end)
  return { view, query: Object.fromEntries(new URLSearchParams(end < 0 ? '' : text.slice(end + 1))) }
}

/** The link to an address: `#/explore?period=7d`. */
export function linkTo(view: string, choices: Choices = {}): string {
  return `#/${withChoices(view, choices)}`
}

/** `path?a=1`: the choices behind a path, without what is empty. */
export function withChoices(path: string, choices: Choices): string {
  const said = Object.entries(choices).flatMap(([name, value]): [string, string][] =>
    value === undefined || value === '' ? [] : [[name, `${value}`]],
  )
  return said.length === 0 ? path : `${path}?${new URLSearchParams(said)}`
}

/** One part of a path, whatever is in it. */
export function pathPart(text: string): string {
  return encodeURIComponent(text)
}
