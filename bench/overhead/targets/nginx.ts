import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { until } from '../../../src/lib/repeat.ts'
import { findFreePort, whyPortIsTaken } from '../../../src/standalone/processes/free-port.ts'
import { stopWithMe } from '../../../src/standalone/stand/stop-with-me.ts'
import type { Target } from './target.ts'

/** Plain forwarding: connections kept on both sides, nothing buffered, nothing logged. One process, as the others. */
function configFor(folder: string, port: number, originPort: number): string {
  return `
    daemon off;
    master_process off;
    pid ${folder}/nginx.pid;
    error_log ${folder}/error.log;
    events { worker_connections 16384; }
    http {
      access_log off;
      client_body_temp_path ${folder}/body;
      proxy_temp_path ${folder}/proxy;
      fastcgi_temp_path ${folder}/fastcgi;
      uwsgi_temp_path ${folder}/uwsgi;
      scgi_temp_path ${folder}/scgi;
      keepalive_requests 100000000;
      upstream origin { server 127.0.0.1:${originPort}; keepalive 2048; keepalive_requests 100000000; }
      server {
        listen 127.0.0.1:${port} backlog=4096;
        location / {
          proxy_pass http://origin;
          proxy_http_version 1.1;
          proxy_set_header connection "";
          proxy_buffering off;
        }
      }
    }`
}

/** What `nginx -v` says of itself; `null`: it is not installed. */
export function findNginx(): string | null {
  const { status, stderr } = spawnSync('nginx', ['-v'], { encoding: 'utf8' })
  return status === 0 ? stderr.trim().replace('nginx version: ', '') : null
}

/** It ends with this process. */
export async function startNginx(originPort: number): Promise<Target> {
  const port = await findFreePort()
  const own = mkdtempSync(join(tmpdir(), 'tallygate-nginx-'))
  const file = join(own, 'nginx.conf')
  writeFileSync(file, configFor(own, port, originPort))
  const child = spawn('nginx', ['-c', file, '-p', own], { stdio: 'ignore' })
  stopWithMe(own).add(child.pid ?? 0)
  const listens = async () => ((await whyPortIsTaken('127.0.0.1', port)) === null ? null : true)
  if ((await until(listens, { timeoutMs: 5_000 })) !== true)
    throw new Error(`nginx does not listen, see ${own}/error.log`)
  const passes = { takesAllWires: true, keepsBytes: true }
  return { name: 'nginx', host: '127.0.0.1', port, key: 'none', pid: child.pid ?? null, ...passes }
}
