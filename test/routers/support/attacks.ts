import type { Target } from './fixture.ts'
import { pathForms, withPrefix } from './path-forms.ts'
import { converse, send } from './raw-client.ts'
import type { Attack } from './table.ts'

/** What `startFixture` puts behind the gateway. */
export const ROUTERS = ['Starlette', 'Express', 'Go', 'nginx'] as const
/** With one more, which takes no handshakes that matter. */
export const ALL_ROUTERS = [...ROUTERS, 'nginx with $uri'] as const

/** What is asked for, before its path is written in another form. */
export interface Asked {
  /** Absolute. A list: one for each form in turn, for what only one may ask for. */
  readonly path: string | readonly string[]
  /** '': none. */
  readonly body: string
}

export interface Request extends Asked {
  readonly method: string
  readonly key: string
  /** Beside those that name the key and frame the body. */
  readonly headers?: readonly string[]
}

/** How many forms a path has. */
export const FORMS = pathForms('/v1/x').length

/** A request for each form of the path. */
export function requestsTo(target: Target, request: Request): Attack[] {
  const { method, key, body, headers = [] } = request
  const shownHeaders = headers.map((header) => ` (${header})`).join('')
  return formsOf(request.path).map(([name, path]) => {
    const plain = (prefix: string, probe: string, more: readonly string[] = []) => ({
      method,
      target: withPrefix(prefix, path),
      headers: [`x-probe: ${probe}`, ...headers, ...more],
      body,
    })
    return {
      name,
      target,
      shown: `${method} ${withPrefix(target.prefix, path)}${shownHeaders}`,
      send: (url, probe) => send(url, plain(target.prefix, probe, [`Authorization: Bearer ${key}`])),
      sendDirectly: (url, probe) => send(url, plain('', probe)),
      bodiless: method === 'HEAD',
    }
  })
}

/** A WebSocket handshake for each form of the path; where one is accepted, one response is asked for. */
export function handshakesAt(
  target: Target,
  request: { readonly path: string | readonly string[]; readonly key: string },
): Attack[] {
  return formsOf(request.path).map(([name, path]) => ({
    name: `handshake, ${name}`,
    target,
    shown: `GET ${withPrefix(target.prefix, path)} (Upgrade: websocket)`,
    send: (url, probe) =>
      converse(url, withPrefix(target.prefix, path), [
        `x-probe: ${probe}`,
        `Authorization: Bearer ${request.key}`,
      ]),
    sendDirectly: (url, probe) => converse(url, withPrefix('', path), [`x-probe: ${probe}`]),
  }))
}

/** Begins background responses or batches through the gateway; their ids. */
export async function createObjects(
  url: string,
  target: Target,
  kind: 'responses' | 'batches',
  key: string,
): Promise<readonly string[]> {
  const path = `${target.prefix}/v1/${kind}`
  const body = JSON.stringify({ model: 'llama3.1', input: 'hi', background: true })
  const ids: string[] = []
  while (ids.length < FORMS) {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
    const answer = await fetch(`${url}${path}`, { method: 'POST', headers, body })
    const { id } = (await answer.json()) as { readonly id?: string }
    if (id === undefined) throw new Error(`POST ${path}: ${answer.status}`)
    ids.push(id)
  }
  return ids
}

export function targetOf(targets: readonly Target[], router: string): Target {
  const found = targets.find(({ name }) => name.startsWith(router))
  if (found === undefined) throw new Error(`no router ${router}`)
  return found
}

function formsOf(path: Asked['path']): readonly (readonly [name: string, path: string])[] {
  if (typeof path === 'string') return pathForms(path)
  return path.flatMap((own, index) => pathForms(own).slice(index, index + 1))
}
