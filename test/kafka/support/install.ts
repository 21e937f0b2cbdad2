import { execFile } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const run = promisify(execFile)
const POM = fileURLToPath(new URL('./pom.xml', import.meta.url))
const COPY = 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies'

/**
 * Installs Java and Maven where they are missing, and has Maven fetch the jars of the broker. Later runs find them.
 *
 * @returns The folder of the jars.
 */
export async function installKafka(): Promise<string> {
  const [, version = ''] = /<version>(\d+\.\d+\.\d+)<\/version>/.exec(readFileSync(POM, 'utf8')) ?? []
  const folder = resolve('node_modules/.cache', `kafka-${version}`)
  await installProgram('javac', ['-version'], 'default-jdk-headless')
  if (existsSync(folder)) return folder
  await installProgram('mvn', ['-version'], 'maven')
  await mkdir(join(folder, '..'), { recursive: true })
  // A half filled folder never stands under the name.
  const being = await mkdtemp(`${folder}-`)
  try {
    await run('mvn', ['-q', '-B', '-ntp', '-f', POM, COPY, `-DoutputDirectory=${being}`])
    await rename(being, folder)
  } catch (error) {
    await rm(being, { recursive: true, force: true })
    throw new Error(`Kafka cannot be had: ${reasonOf(error)}`)
  }
  return folder
}

async function installProgram(program: string, args: readonly string[], debian: string): Promise<void> {
  const answers = await run(program, args).then(
    () => true,
    () => false,
  )
  if (answers) return
  try {
    await run('apt-get', ['update', '-qq'])
    await run('apt-get', ['install', '-y', '-qq', '--no-install-recommends', debian])
  } catch (error) {
    throw new Error(`${program} cannot be had: ${reasonOf(error)}`)
  }
}

function reasonOf(error: unknown): string {
  const text =
    error instanceof Error ? ((error as { stderr?: string }).stderr ?? '') || error.message : `${error}`
  return text.trim().split('\n').at(-1) ?? ''
}
