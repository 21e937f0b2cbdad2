const OUR_KEY = /^tg_[0-9A-Za-z]{36}$/

/**
 * Takes our keys out of a raw URL's query: each parameter `key` or `api-key` whose value has our form,
 * together with one `&`, or with the `?` when nothing is left. No other byte changes.
 *
 * @returns `key`: the value of the first one.
 */
export function takeQueryKey(url: string): { readonly url: string; readonly key: string | null } {
  const queryStart = url.indexOf('?') + 1
  if (queryStart === 0) return { url, key: null }
  let key: string | null = null
  const parameters = url.slice(queryStart).split('&')
  const others = parameters.filter((parameter) => {
    const found = keyIn(parameter)
    key ??= found
    return found === null
  })
  if (others.length === parameters.length) return { url, key: null }
  const path = url.slice(0, queryStart - 1)
  return { url: others.length === 0 ? path : `${path}?${others.join('&')}`, key }
}

function keyIn(parameter: string): string | null {
  const equals = parameter.indexOf('=')
  if (equals < 0) return null
  const name = percentDecoded(parameter.slice(0, equals))
  if (name !== 'key' && name !== 'api-key') return null
  const value = percentDecoded(parameter.slice(equals + 1))
  return OUR_KEY.test(value) ? value : null
}

/** An upstream would undo percent-encoding, so a key that is written with it is a key. */
function percentDecoded(text: string): string {
  if (!text.includes('%')) return text
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
