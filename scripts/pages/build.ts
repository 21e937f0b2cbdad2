import { join } from 'node:path'
import { build } from 'esbuild'

/** Where the bundles are served from. */
export const PAGES_FOLDER = 'src/operator/pages'

/**
 * The pages as browsers load them: one script each, and one style sheet for all. They are committed, so that nothing is
 * built where the product runs.
 *
 * @returns contents by the names of their files
 */
export async function buildPages(): Promise<ReadonlyMap<string, string>> {
  const { outputFiles } = await build({
    entryPoints: {
      operator: 'pages/operator/main.tsx',
      portal: 'pages/portal/main.tsx',
      style: 'pages/shared/style.css',
    },
    outdir: PAGES_FOLDER,
    bundle: true,
    minify: true,
    write: false,
    format: 'esm',
    target: ['chrome123', 'firefox120', 'safari17.5'],
    jsx: 'automatic',
    jsxImportSource: 'preact',
    legalComments: 'eof',
    charset: 'utf8',
    logLevel: 'error',
  })
  return new Map(
    outputFiles.map(({ path, text }) => [path.slice(join(process.cwd(), PAGES_FOLDER).length + 1), text]),
  )
}
