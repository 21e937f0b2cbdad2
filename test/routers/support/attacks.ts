import type { Target } from './fixture.ts'
import { pathForms, withPrefix } from './path-forms.ts'
import { converse, send } from './raw-client.ts'
import type { Attack } from './table.ts'

/** What `startFixture` puts behind the gateway. */
export const ROUTERS = ['Starlette', 'Express', 'Go', 'nginx'] as const

/** What is asked for, before its path is written in another form. */
export interface Asked {
  /** An absolute path; `{n}` in it is replaced by something new for each form. */
  readonly path: string
  /** '': none. */
  readonly body: string
}

export interface Request extends Asked {
  readonly method: string
  readonly key: string
  /** Beside those that name the key and frame the body. */
  readonly headers?: readonly string[]
}

let numbers = 0

/** A request for each form of the path. */
export function requestsTo(target: Target, request: Request): Attack[] {
  const { method, key, body, headers = [] } = request
  return formsOf(request.path).map(([name, path]) => {
    const plain = (prefix: string, probe: string, more: readonly string[] = []) => ({
      method,
      target: withPrefix(prefix, path),
      headers: [`x-probe: ${probe}`, ...headers, ...more],
      body,
    })
    return {
      name: `${method} ${request.path}, ${name}`,
      target,
      shown: `${method} ${withPrefix(target.prefix, path)}`,
      send: (url, probe) => send(url, plain(target.prefix, probe, [`Authorization: Bearer ${key}`])),
      sendDirectly: (url, probe) => send(url, plain('', probe)),
      bodiless: method === 'HEAD',
    }
  })
}

/** A WebSocket handshake for each form of the path; where one is accepted, one response is asked for. */
export function handshakesAt(
  target: Target,
  request: { readonly path: string; readonly key: string },
): Attack[] {
  return formsOf(request.path).map(([name, path]) => ({
    name: `handshake at ${request.path}, ${name}`,
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

export function targetOf(targets: readonly Target[], router: string): Target {
  const found = targets.find(({ name }) => name.startsWith(router))
  if (found === undefined) throw new Error(`no router ${router}`)
  return found
}

function formsOf(path: string): readonly (readonly [name: string, path: string])[] {
  if (!path.includes('{n}')) return pathForms(path)
  const fresh = () => {
    numbers += 1
    return path.replace('{n}', `${process.pid}${numbers}`)
  }
  const names = pathForms(path).map(([name]) => name)
  return names.flatMap((name) => pathForms(fresh()).filter(([other]) => other === name))
}
