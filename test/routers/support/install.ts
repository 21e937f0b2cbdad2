import { readFileSync } from 'node:fs'
import { cp, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { cached, cannotBeHad, run } from '../../support/cached-install.ts'

/** Where the routers are, each as its own package manager installed it. */
export interface InstalledRouters {
  /** A folder with express and ws in its node_modules. */
  readonly express: string
  /** A folder of Python packages, for PYTHONPATH. */
  readonly starlette: string
  /** The program built from test/routers/servers/go. */
  readonly go: string
  readonly nginx: string
}

const GO_FOLDER = fileURLToPath(new URL('../servers/go', import.meta.url))

const NPM_PACKAGES = { express: '5.3.0', 'method-override': '3.0.0', ws: '8.23.0' }
/** What uvicorn[standard] takes: httptools is the parser that vLLM runs on, h11 the one without it. */
const PYTHON_PACKAGES = [
  'starlette==1.10.0',
  'uvicorn==0.54.0',
  'httptools==0.9.0',
  'h11==0.16.0',
  'websockets==17.4',
]

/**
 * Installs what is missing, into a folder of the system's temporary one that is named by its contents. Later
 * runs find it there. Fails with one line that says which router could not be installed and why.
 */
export async function installRouters(): Promise<InstalledRouters> {
  const [express, starlette, go, nginx] = await Promise.all([
    cached('Express', JSON.stringify(NPM_PACKAGES), installExpress),
    cached('Starlette', JSON.stringify(PYTHON_PACKAGES), installStarlette),
    cached('Go net/http', goSources(), buildGo),
    findNginx(),
  ])
  return { express, starlette, go: join(go, 'server'), nginx }
}

async function installExpress(folder: string): Promise<void> {
  await writeFile(join(folder, 'package.json'), JSON.stringify({ private: true, dependencies: NPM_PACKAGES }))
  await run('npm', ['install', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: folder })
}

async function installStarlette(folder: string): Promise<void> {
  await run('python3', ['-m', 'pip', 'install', '--quiet', '--target', folder, ...PYTHON_PACKAGES])
}

async function buildGo(folder: string): Promise<void> {
  const source = join(folder, 'source')
  await cp(GO_FOLDER, source, { recursive: true })
  await run('go', ['build', '-o', join(folder, 'server'), '.'], { cwd: source })
}

function goSources(): string {
  return ['main.go', 'go.mod', 'go.sum'].map((name) => readFileSync(join(GO_FOLDER, name), 'utf8')).join('\0')
}

async function findNginx(): Promise<string> {
  const program = 'nginx'
  if (await answers(program)) return program
  try {
    await run('apt-get', ['update', '-qq'])
    await run('apt-get', ['install', '-y', '-qq', '--no-install-recommends', 'nginx-light'])
  } catch (error) {
    throw cannotBeHad('nginx', error)
  }
  if (await answers(program)) return program
  throw cannotBeHad('nginx', new Error('it is installed, and not on the PATH'))
}

async function answers(program: string): Promise<boolean> {
  return await run(program, ['-v']).then(
    () => true,
    () => false,
  )
}
