import { cp, glob, readdir, readFile, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { run } from '../../support/cached-install.ts'

const HERE = fileURLToPath(new URL('./matrix', import.meta.url))
const COPY = 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies'

interface ClientSet {
  /** Commands that have to answer before the set can be installed. */
  readonly toolchain: readonly (readonly [string, ...string[]])[]
  readonly packages: readonly string[]
  install(folder: string): Promise<void>
}

/** Packages of the npm registry, the newest of each, into `node_modules` of the folder. */
function npm(packages: readonly string[], ...options: readonly string[]): ClientSet {
  return {
    toolchain: [['npm', '--version']],
    packages,
    async install(folder) {
      const dependencies = Object.fromEntries(packages.map((name) => [name, 'latest']))
      const allowScripts = Object.fromEntries(packages.map((name) => [name, true]))
      await writeFile(
        join(folder, 'package.json'),
        JSON.stringify({ private: true, dependencies, allowScripts }),
      )
      await run('npm', ['install', '--no-audit', '--no-fund', ...options], { cwd: folder })
    },
  }
}

/** Libraries, of which no script runs. */
const libraries = (...packages: readonly string[]): ClientSet => npm(packages, '--ignore-scripts')

/** A program, whose script puts the binary of this machine into its place. */
const program = (name: string): ClientSet => npm([name])

/** Packages of PyPI, the newest that go together, into the folder itself. */
function pip(...packages: readonly string[]): ClientSet {
  return pipWith([], packages)
}

function pipWith(options: readonly string[], packages: readonly string[]): ClientSet {
  return {
    toolchain: [['python3', '-m', 'pip', '--version']],
    packages,
    async install(folder) {
      await run('python3', ['-m', 'pip', 'install', '--quiet', ...options, '--target', folder, ...packages])
    },
  }
}

/** Programs of `matrix/go`, each built with the newest of its module. */
function go(modules: readonly string[]): ClientSet {
  return {
    toolchain: [['go', 'version']],
    packages: modules,
    async install(folder) {
      await cp(join(HERE, 'go'), folder, { recursive: true })
      const at = { cwd: folder, maxBuffer: 64 * 1024 * 1024 }
      await run('go', ['mod', 'init', 'clients'], at)
      await run('go', ['get', ...modules.map((name) => `${name}@latest`)], at)
      await run('go', ['mod', 'tidy'], at)
      await run('go', ['build', '-o', join(folder, 'clients'), '.'], at)
    },
  }
}

/** Programs of `matrix/java`, compiled with the jars that its pom names. */
function maven(packages: readonly string[]): ClientSet {
  return {
    toolchain: [
      ['javac', '-version'],
      ['mvn', '-version'],
    ],
    packages,
    async install(folder) {
      const source = join(HERE, 'java')
      const jars = join(folder, 'jars')
      await run('mvn', ['-q', '-B', '-ntp', '-f', join(source, 'pom.xml'), COPY, `-DoutputDirectory=${jars}`])
      const programs = (await readdir(source)).filter((name) => name.endsWith('.java'))
      await run('javac', [
        '-d',
        folder,
        '-cp',
        join(jars, '*'),
        ...programs.map((name) => join(source, name)),
      ])
    },
  }
}

/** What is installed apart, because its packages would ask for other versions of the same ones. */
export const SETS = {
  node: libraries(
    'openai',
    '@anthropic-ai/sdk',
    '@google/genai',
    '@aws-sdk/client-bedrock-runtime',
    '@smithy/node-http-handler',
    '@modelcontextprotocol/sdk',
  ),
  'ai-sdk': libraries('ai', '@ai-sdk/openai', '@ai-sdk/anthropic', '@ai-sdk/google'),
  python: pip(
    'anthropic[bedrock]',
    'boto3',
    'cohere',
    'google-genai',
    'groq',
    'mistralai',
    'ollama',
    'openai',
  ),
  langchain: pip('langchain-openai', 'langchain-anthropic', 'langchain-google-genai'),
  'llama-index': pip('llama-index-llms-openai', 'llama-index-embeddings-openai'),
  'pydantic-ai': pip('pydantic-ai-slim[openai,anthropic,google]'),
  litellm: pip('litellm'),
  'openai-agents': pip('openai-agents'),
  go: go([
    'github.com/openai/openai-go/v3',
    'github.com/anthropics/anthropic-sdk-go',
    'google.golang.org/genai',
  ]),
  java: maven(['com.openai:openai-java', 'com.anthropic:anthropic-java']),
  'claude-code': program('@anthropic-ai/claude-code'),
  codex: program('@openai/codex'),
  'gemini-cli': program('@google/gemini-cli'),
  opencode: program('opencode-ai'),
  aider: pip('aider-chat'),
  // It asks for Python 3.12, and runs on 3.11, too.
  'cost-tools': pipWith(['--ignore-requires-python'], ['llm-org-cost-monitor']),
  chromium: libraries('playwright-core', '@sparticuz/chromium'),
} as const satisfies Readonly<Record<string, ClientSet>>

export type SetName = keyof typeof SETS

/** What a set is made of; it is made again once that changes. */
export async function packagesOf(name: SetName): Promise<readonly string[]> {
  const { packages } = SETS[name]
  if (name !== 'go' && name !== 'java') return packages
  const files = (await readdir(join(HERE, name))).sort()
  return [...packages, ...(await Promise.all(files.map((file) => readFile(join(HERE, name, file), 'utf8'))))]
}

/** The packages that were asked for, with the versions that came. */
export async function versionsIn(name: SetName, folder: string): Promise<string> {
  const found: string[] = []
  for (const asked of SETS[name].packages) {
    const bare = asked.replace(/\[.*/, '')
    found.push(`${bare} ${(await versionOf(name, folder, bare)) ?? '?'}`)
  }
  return found.join(', ')
}

async function versionOf(name: SetName, folder: string, asked: string): Promise<string | undefined> {
  if (name === 'go') {
    const [, version] =
      new RegExp(`${asked} v(\\S+)`).exec(await readFile(join(folder, 'go.mod'), 'utf8')) ?? []
    return version
  }
  const [pattern, form] =
    name === 'java'
      ? [`jars/${asked.split(':').at(-1)}-[0-9]*.jar`, /-(\d[^-]*)\.jar$/]
      : [`${asked.replaceAll('-', '_')}-*.dist-info`, /-([^-]+)\.dist-info$/]
  for await (const file of glob(pattern, { cwd: folder })) return form.exec(basename(file))?.[1]
  const text = await readFile(join(folder, 'node_modules', asked, 'package.json'), 'utf8').catch(() => '{}')
  return JSON.parse(text).version
}
