import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { writeStaging } from './staging.ts'

/**
 * Packs what `npx tallygate` runs into a tarball, whose path is the last line: `npm run pack -- --to FOLDER`. Two packs
 * of one commit are alike, byte by byte. It needs no network.
 */
const { values } = parseArgs({ options: { to: { type: 'string', default: 'dist' } } })
const to = resolve(values.to)
const work = mkdtempSync(join(tmpdir(), 'tallygate-pack-'))
try {
  const folder = join(work, 'package')
  const { manifest, lockfile } = writeStaging(folder)
  const listed = join(work, 'tallygate') // npm has the name that the list begins with from the folder
  mkdirSync(listed)
  writeFileSync(join(listed, 'package.json'), JSON.stringify(manifest))
  writeFileSync(join(listed, 'package-lock.json'), JSON.stringify(lockfile))
  const list = npm(listed, 'sbom', '--package-lock-only', '--sbom-format=cyclonedx')
  writeFileSync(join(folder, 'sbom.cdx.json'), withoutMoment(list))
  mkdirSync(to, { recursive: true })
  const [packed] = JSON.parse(npm(folder, 'pack', '--json', '--ignore-scripts', `--pack-destination=${to}`))
  const megabytes = [packed.size, packed.unpackedSize].map((bytes) => (bytes / 1e6).toFixed(1))
  console.log(`${packed.entryCount} files, ${megabytes[0]} MB, ${megabytes[1]} unpacked, ${packed.integrity}`)
  console.log(join(to, packed.filename))
} finally {
  rmSync(work, { recursive: true, force: true })
}

function npm(cwd: string, ...args: string[]): string {
  return execFileSync('npm', args, { cwd, encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 })
}

/** npm's list of all packages, without what differs each time that it is made. */
function withoutMoment(sbom: string): string {
  const { serialNumber, metadata, ...rest } = JSON.parse(sbom)
  const { timestamp, ...kept } = metadata
  return `${JSON.stringify({ ...rest, metadata: kept }, null, 2)}\n`
}
