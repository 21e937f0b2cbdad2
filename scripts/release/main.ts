import { execFileSync } from 'node:child_process'
import { createHash, createPrivateKey, sign } from 'node:crypto'
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { parseArgs } from 'node:util'
import { releaseFiles, sumsOf, versionAfter } from './release-files.ts'

/**
 * Makes a release: `npm run release -- 0.3.0`, or `minor`. The version in every place, a commit and a tag; into `dist/` the package,
 * its list of what is in it, the chart, and their sums, signed where `--sign-key FILE` names an Ed25519 key in PEM.
 * Nothing is pushed. `--dry-run` makes the same files of this version in an empty folder, and changes nothing.
 */
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { 'dry-run': { type: 'boolean', default: false }, 'sign-key': { type: 'string' } },
})
const read = (path: string) => readFileSync(path, 'utf8')
const version = versionAfter(positionals[0] ?? '', read)
const isDry = values['dry-run']
const key = values['sign-key'] === undefined ? null : createPrivateKey(readFileSync(values['sign-key']))
if (key !== null && key.asymmetricKeyType !== 'ed25519')
  throw new Error('--sign-key has to be an Ed25519 key')

const run = (program: string, ...args: string[]) => execFileSync(program, args, { encoding: 'utf8' }).trim()

if (!isDry && run('git', 'status', '--porcelain') !== '')
  throw new Error('there are changes that are not committed')
const files = releaseFiles(version, new Date().toISOString().slice(0, 10), read)
if (!isDry) for (const [path, text] of files) writeFileSync(path, text)
console.log(`${isDry ? 'would change' : 'changed'}: ${[...files.keys()].join(', ')}`)

const folder = isDry ? mkdtempSync(join(tmpdir(), 'tallygate-release-')) : 'dist'
try {
  mkdirSync(folder, { recursive: true })
  const packed = run('node', '--disable-warning=ExperimentalWarning', 'scripts/pack/main.ts', '--to', folder)
  const tarball = packed.slice(packed.lastIndexOf('\n') + 1)
  const name = basename(tarball, '.tgz')
  const list = run('tar', '--extract', '--to-stdout', '--file', tarball, 'package/sbom.cdx.json')
  writeFileSync(join(folder, `${name}.sbom.cdx.json`), `${list}\n`)
  run(
    'tar',
    '--create',
    '--gzip',
    '--file',
    join(folder, `${name}-chart.tgz`),
    '--transform',
    's,^helm,tallygate,',
    '--directory',
    'deploy',
    'helm',
  )
  copyFileSync('CHANGELOG.md', join(folder, `${name}-CHANGELOG.md`))
  const made = readdirSync(folder).filter((file) => file.startsWith(name))
  const sums = sumsOf(
    Object.fromEntries(
      made.map((file) => [
        file,
        createHash('sha256')
          .update(readFileSync(join(folder, file)))
          .digest('hex'),
      ]),
    ),
  )
  writeFileSync(join(folder, 'SHA256SUMS'), sums)
  if (key !== null) writeFileSync(join(folder, 'SHA256SUMS.sig'), sign(null, Buffer.from(sums), key))
  console.log(sums.trimEnd())
  console.log(key === null ? 'not signed: no --sign-key' : 'SHA256SUMS is signed: SHA256SUMS.sig')
} finally {
  if (isDry) rmSync(folder, { recursive: true, force: true })
}

if (isDry) {
  console.log(
    `nothing was changed. Without --dry-run: a commit, the tag v${version}, and the files above in dist/`,
  )
} else {
  run('git', 'commit', '--quiet', '--message', `chore(release): ${version}`, ...files.keys())
  run('git', 'tag', '--annotate', `v${version}`, '--message', `tallygate ${version}`)
  console.log(`tagged v${version}. Push it, and build the image: docker build --tag tallygate:${version} .`)
}
