import { readFileSync, writeFileSync } from 'node:fs'
import { PAGES, withFigures } from './pages.ts'

/** Writes the figures of the benches into the pages that quote them: `npm run figures`. */
for (const page of PAGES) {
  const text = readFileSync(page, 'utf8')
  const written = withFigures(text)
  if (written === text) continue
  writeFileSync(page, written)
  console.log(`${page}: figures of bench/results written`)
}
