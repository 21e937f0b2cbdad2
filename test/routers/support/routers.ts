import { spawn } from 'node:child_process'
import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { inject } from 'vitest'
import { findFreePort } from '../../../src/standalone/processes/free-port.ts'
import { stopWithMe } from '../../../src/standalone/stand/stop-with-me.ts'

/** A call that a router's handler answered, where a model runs with usage 1000/500. */
export interface Served {
  readonly probe: string
  readonly endpoint: string
  /** The model as the router or its parsers read it; '' where none runs. */
  readonly model: string
}

/** What the servers saw, by the `x-probe` header of the requests. */
export interface Witness {
  readonly seen: ReadonlySet<string>
  readonly served: ReadonlyMap<string, Served>
}

export interface Router {
  readonly name: string
  readonly url: string
  witness(): Promise<Witness>
}

export interface Routers {
  readonly starlette: Router
  /** With the other parser, and knowing no WebSockets: a handshake is a GET to it. */
  readonly plainStarlette: Router
  readonly express: Router
  readonly go: Router
  /** In front of `starlette`. */
  readonly nginx: Router
  /** In front of `plainStarlette`. */
  readonly plainNginx: Router
  /** In front of `starlette`, with the variable that many set-ups have in it: it sends the path on as it decoded it. */
  readonly uriNginx: Router
  stop(): Promise<void>
}

const START_MS = 20_000

/** Starts them all; they end with this process at the latest. */
export async function startRouters(): Promise<Routers> {
  const installed = inject('installedRouters')
  const folder = await mkdtemp(join(tmpdir(), 'tallygate-test-routers-run-'))
  const end = stopWithMe(folder)
  const start = (program: string, args: readonly string[], env: Record<string, string> = {}) => {
    const child = spawn(program, args, {
      env: { PATH: process.env.PATH, ...env },
      stdio: ['ignore', 'ignore', 'inherit'],
    })
    if (child.pid !== undefined) end.add(child.pid)
  }
  const python = (port: number, ...rest: readonly string[]) =>
    start('python3', [source('starlette_server.py'), `${port}`, ...rest], { PYTHONPATH: installed.starlette })

  const [starlette, plainStarlette, express, go, nginx, plainNginx, uriNginx] = await freePorts()
  python(starlette, 'httptools', 'websockets-sansio')
  python(plainStarlette, 'h11', 'none')
  // Express prints what a request made it throw, except where it is tested.
  start(process.execPath, [source('express.mjs'), installed.express, `${express}`], { NODE_ENV: 'test' })
  start(installed.go, [source('answers.json'), `${go}`])
  const config = join(folder, 'nginx.conf')
  const proxies = [
    proxy(nginx, `${starlette}/`),
    proxy(plainNginx, `${plainStarlette}/`),
    proxy(uriNginx, `${starlette}$uri$is_args$args`),
  ]
  await writeFile(config, nginxConfig(folder, proxies.join('\n')))
  start(installed.nginx, ['-p', folder, '-c', config, '-e', join(folder, 'error.log')])
  const routers = {
    starlette: routerAt('Starlette', starlette),
    plainStarlette: routerAt('Starlette (h11)', plainStarlette),
    express: routerAt('Express', express),
    go: routerAt('Go', go),
    nginx: routerAt('nginx', nginx),
    plainNginx: routerAt('nginx (h11)', plainNginx),
    uriNginx: routerAt('nginx with $uri', uriNginx),
  }
  await Promise.all(Object.values(routers).map(untilAnswering))
  return { ...routers, stop: () => end.now() }
}

function source(name: string): string {
  return fileURLToPath(new URL(`../servers/${name}`, import.meta.url))
}

async function freePorts(): Promise<[number, number, number, number, number, number, number]> {
  const find = findFreePort
  return await Promise.all([find(), find(), find(), find(), find(), find(), find()])
}

function routerAt(name: string, port: number): Router {
  const url = `http://127.0.0.1:${port}`
  return {
    name,
    url,
    async witness() {
      const answer = await fetch(`${url}/witness`)
      const state = (await answer.json()) as { readonly seen: string[]; readonly served: Served[] }
      return {
        seen: new Set(state.seen),
        served: new Map(state.served.map((served) => [served.probe, served])),
      }
    },
  }
}

async function untilAnswering({ name, url }: Router): Promise<void> {
  const until = performance.now() + START_MS
  while (performance.now() < until) {
    const ok = await fetch(`${url}/witness`).then(
      (answer) => answer.ok,
      () => false,
    )
    if (ok) return
    await delay(50)
  }
  throw new Error(`the router ${name} did not start`)
}

function nginxConfig(folder: string, servers: string): string {
  const folders = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `  ${name}_temp_path ${join(folder, name)};`,
  )
  return `daemon off;
master_process off;
pid ${join(folder, 'nginx.pid')};
error_log ${join(folder, 'error.log')};
events {}
http {
  access_log off;
${folders.join('\n')}
  map $http_upgrade $connection_upgrade { default upgrade; '' close; }
${servers}
}
`
}

/** As nginx's own manual sets up a proxy for WebSockets; with a slash behind the address it sends the path normalised and encoded again. */
function proxy(port: number, destination: string): string {
  return `  server {
    listen 127.0.0.1:${port};
    location / {
      proxy_pass http://127.0.0.1:${destination};
      proxy_http_version 1.1;
      proxy_set_header Upgrade $http_upgrade;
      proxy_set_header Connection $connection_upgrade;
    }
  }`
}
