import { existsSync } from 'node:fs'
import { loadRecordings } from './recordings.ts'

/** Says how many recordings there are, and ends the run where there are none: a suite without cases has shown nothing. */
export default function setUp(): void {
  const folder = process.env.RECORDINGS_DIR ?? ''
  const count = existsSync(folder) ? loadRecordings().length : 0
  if (count === 0) {
    console.error(`There are no recordings in ${folder}: name a folder with some in RECORDINGS_DIR.`)
    process.exit(1)
  }
  console.log(`${count} recordings in ${folder}`)
}
