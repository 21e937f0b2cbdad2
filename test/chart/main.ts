import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseAllDocuments } from 'yaml'
import { CHART, findHelm, KUBERNETES, render } from '../../scripts/chart/helm.ts'
import { MANIFESTS, plainManifests } from '../../scripts/chart/main.ts'
import { cached } from '../support/cached-install.ts'
import { againstSchemas, installSchemas } from './schemas.ts'
import { REFUSED_SETS, VALUE_SETS } from './value-sets.ts'

/**
 * The chart, over sets of values: Helm lints and renders each. Kubernetes' own types read each manifest, and the schemas
 * that an old and a new release of it publish are held against it; a field that they do not have is an error.
 * `npm run test:chart`; it needs Go, or Helm on the PATH beside it, and Python.
 */
const folder = mkdtempSync(join(tmpdir(), 'tallygate-test-chart-'))
const failures: string[] = []
try {
  const helm = await had('Helm', findHelm)
  const validate = await had('the validator of manifests', buildValidator)
  const schemas = await had('the API’s schemas', installSchemas)
  if (helm !== null) await tryChart(helm, validate, schemas)
} finally {
  rmSync(folder, { recursive: true })
}
for (const failure of failures) console.error(failure)
process.exitCode = failures.length === 0 ? 0 : 1

/** `null`: said that it cannot be had. */
async function had(name: string, find: () => Promise<string>): Promise<string | null> {
  try {
    return await find()
  } catch (error) {
    failures.push(`not tried: ${name} cannot be had: ${error instanceof Error ? error.message : error}`)
    return null
  }
}

/** A program in Go: the types are those of the API server's client. */
async function buildValidator(): Promise<string> {
  const source = 'test/chart/validate'
  const text = ['main.go', 'go.mod', 'go.sum']
    .map((file) => readFileSync(join(source, file), 'utf8'))
    .join('')
  const built = await cached('the validator', text, async (into) => {
    execFileSync('go', ['build', '-o', join(into, 'validate'), '.'], {
      cwd: source,
      env: { ...process.env, CGO_ENABLED: '0' },
      stdio: 'pipe',
    })
  })
  return join(built, 'validate')
}

async function tryChart(helm: string, validate: string | null, schemas: string | null): Promise<void> {
  let manifests = 0
  const rendered: string[] = []
  for (const [name, values] of Object.entries(VALUE_SETS)) {
    const file = valuesFile(values)
    const lint = spawnSync(helm, ['lint', CHART, '--strict', '--values', file], { encoding: 'utf8' })
    if (lint.status !== 0) failures.push(`${name}: helm lint: ${lint.stdout}${lint.stderr}`)
    try {
      const text = render(helm, file)
      const as = join(folder, `${rendered.length} ${name.replaceAll('/', ' ')}.yaml`)
      writeFileSync(as, text)
      rendered.push(as)
      const documents = parseAllDocuments(text).map((document) => Object(document.toJS()))
      manifests += documents.length
      failures.push(...wrongIn(documents, values).map((what) => `${name}: ${what}`))
      if (validate === null) continue
      const read = spawnSync(validate, { input: text, encoding: 'utf8' })
      if (read.status !== 0) failures.push(`${name}: ${read.stdout}${read.stderr}`)
    } catch (error) {
      failures.push(`${name}: helm template: ${error}`)
    }
  }
  if (schemas !== null) {
    failures.push(...againstSchemas(schemas, rendered))
    const misspelt = join(folder, 'misspelt.yaml')
    writeFileSync(misspelt, readFileSync(MANIFESTS, 'utf8').replaceAll('replicas:', 'replicaz:'))
    if (againstSchemas(schemas, [misspelt]).length === 0) failures.push('the schemas take an unknown field')
  }
  for (const [values, named] of REFUSED_SETS) {
    const { status, stderr } = spawnSync(
      helm,
      ['template', 'x', CHART, KUBERNETES, '--values', valuesFile(values)],
      {
        encoding: 'utf8',
      },
    )
    if (status === 0 || !stderr.includes(named))
      failures.push(`${JSON.stringify(values)} is not refused by its name: ${stderr}`)
  }
  if (readFileSync(MANIFESTS, 'utf8') !== plainManifests(helm))
    failures.push(`${MANIFESTS} is not what the chart makes: npm run manifests`)
  const sets = Object.keys(VALUE_SETS).length
  console.log(
    `${sets} sets of values, ${manifests} manifests, ${REFUSED_SETS.length} refusals; ${failures.length} failures`,
  )
}

function valuesFile(values: object): string {
  const file = join(folder, 'values.json')
  writeFileSync(file, JSON.stringify(values))
  return file
}

type Manifest = Readonly<Record<string, unknown>>

/** What no schema says, and holds for every set of values. */
function wrongIn(documents: readonly Manifest[], values: Manifest): readonly string[] {
  const wrong: string[] = []
  const pods = documents.flatMap((document) => {
    const { kind, spec } = document as { kind: string; spec?: { template?: { spec?: PodSpec } } }
    const pod = spec?.template?.spec
    return pod === undefined ? [] : [{ kind, pod }]
  })
  for (const { kind, pod } of pods) {
    const { securityContext, containers, automountServiceAccountToken } = pod
    if (securityContext.runAsNonRoot !== true || automountServiceAccountToken !== false)
      wrong.push(`the ${kind} may be root, or has a token`)
    for (const { securityContext: own, env = [] } of containers) {
      if (own.readOnlyRootFilesystem !== true || own.allowPrivilegeEscalation !== false)
        wrong.push(`the ${kind} may write, or gain rights`)
      const names = env.map(({ name }) => name)
      if (new Set(names).size !== names.length) wrong.push(`the ${kind} has a variable twice`)
      const floats = env.filter(({ value }) => /e\+/.test(value ?? ''))
      if (floats.length > 0) wrong.push(`the ${kind} has ${JSON.stringify(floats)}`)
    }
  }
  const names = documents.map(({ kind, metadata }) => `${kind} ${Object(metadata).name}`)
  if (new Set(names).size !== names.length) wrong.push(`two are called alike: ${names}`)
  for (const name of names) if (name.length > 90) wrong.push(`${name} is too long`)
  const given = JSON.stringify(values)
  const has = (kind: string) => documents.some((document) => document.kind === kind)
  const wanted = ['StatefulSet', 'Deployment', 'PodDisruptionBudget', 'Service']
  for (const kind of wanted) if (!has(kind)) wrong.push(`there is no ${kind}`)
  if (has('HorizontalPodAutoscaler') !== given.includes('autoscaling')) wrong.push('a wrong autoscaler')
  return wrong
}

interface PodSpec {
  readonly securityContext: { readonly runAsNonRoot?: boolean }
  readonly automountServiceAccountToken?: boolean
  readonly containers: readonly {
    readonly securityContext: {
      readonly readOnlyRootFilesystem?: boolean
      readonly allowPrivilegeEscalation?: boolean
    }
    readonly env?: readonly { readonly name: string; readonly value?: string }[]
  }[]
}
