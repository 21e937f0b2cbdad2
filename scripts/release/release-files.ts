/** Reads a file of the project by its path. */
type Read = (path: string) => string

/** Where the version stands, each as a pattern whose match is the version alone. */
const PLACES: Readonly<Record<string, readonly RegExp[]>> = {
  'package.json': [/(?<="version": ")[^"]+/],
  'package-lock.json': [
    /(?<=^\{\n {2}"name": "tallygate",\n {2}"version": ")[^"]+/,
    /(?<="": \{\n {6}"name": "tallygate",\n {6}"version": ")[^"]+/,
  ],
  'deploy/helm/Chart.yaml': [/(?<=^version: ).+/m, /(?<=^appVersion: ).+/m],
  'deploy/kubernetes/tallygate.yaml': [
    /(?<=helm\.sh\/chart: tallygate-)\d+\.\d+\.\d+/g,
    /(?<=app\.kubernetes\.io\/version: "?)\d+\.\d+\.\d+/g,
    /(?<=image: "?tallygate:)\d+\.\d+\.\d+/g,
  ],
  'README.md': [/(?<=tallygate-)\d+\.\d+\.\d+(?=\.tgz)/g],
  'docs/run.md': [/(?<=tallygate-)\d+\.\d+\.\d+(?=\.tgz)/g],
  'SECURITY.md': [/(?<=^\| )\d+\.\d+(?= \| yes \|$)/m],
}

const FORM = /^(\d+)\.(\d+)\.(\d+)$/

/**
 * The files of a release, as they are to be: the version in every place, and the changelog's entries under it.
 *
 * @param day UTC, YYYY-MM-DD
 * @throws {Error} Where the version is not the next one, a place is missing, or nothing is to be released.
 */
export function releaseFiles(version: string, day: string, read: Read): ReadonlyMap<string, string> {
  const before = versionOf(read)
  if (!isNext(before, version))
    throw new Error(`${version} does not follow ${before}: raise one of its numbers by 1`)
  const changed = new Map<string, string>()
  for (const [path, patterns] of Object.entries(PLACES)) {
    let text = read(path)
    for (const pattern of patterns) {
      if (text.search(pattern) < 0) throw new Error(`${path} has no version where ${pattern} looks for it`)
      text = text.replace(pattern, (found) =>
        found.split('.').length === 2 ? version.replace(/\.\d+$/, '') : version,
      )
    }
    changed.set(path, text)
  }
  changed.set('CHANGELOG.md', changelogOf(read('CHANGELOG.md'), `${version} (${day})`))
  return changed
}

function isNext(before: string, version: string): boolean {
  const [from, to] = [before, version].map((text) => FORM.exec(text)?.slice(1).map(Number))
  const [major, minor, patch] = from ?? []
  if (to === undefined || major === undefined || minor === undefined || patch === undefined) return false
  const next = [
    [major + 1, 0, 0],
    [major, minor + 1, 0],
    [major, minor, patch + 1],
  ]
  return next.some((one) => one.join('.') === to.join('.'))
}

function changelogOf(text: string, heading: string): string {
  const [, entries = ''] = /^## Unreleased\n([\s\S]*?)(?=^## |(?![\s\S]))/m.exec(text) ?? []
  if (entries.trim() === '') throw new Error('CHANGELOG.md has nothing under Unreleased')
  return text.replace('## Unreleased\n', `## Unreleased\n\n## ${heading}\n`)
}

/** The version that follows by `major`, `minor` or `patch`; any other text as it is. */
export function versionAfter(asked: string, read: Read): string {
  const at = ['major', 'minor', 'patch'].indexOf(asked)
  if (at < 0) return asked
  const numbers = versionOf(read).split('.').map(Number)
  return numbers.map((number, index) => (index < at ? number : index === at ? number + 1 : 0)).join('.')
}

function versionOf(read: Read): string {
  return String(JSON.parse(read('package.json')).version)
}

/** Lines of sha256sum, by file name. */
export function sumsOf(sums: Readonly<Record<string, string>>): string {
  return Object.entries(sums)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, sum]) => `${sum}  ${name}\n`)
    .join('')
}
