// `npm start`. Plain JavaScript, so that a Node.js too old for the rest can still say so.
const OLDEST = 24
if (Number(process.versions.node.split('.')[0]) < OLDEST) {
  console.error(`tallygate runs on Node.js ${OLDEST}, and this is ${process.version}.

npm install fetches that version, but its script has not run here, or had no network: npm may be configured to block
install scripts (npm config get ignore-scripts). Repair it with

  node scripts/postinstall.mjs

or install Node.js ${OLDEST} yourself, and start again.`)
  process.exit(1)
}
const { keepCompiledModules } = await import('../lib/compile-cache.ts')
keepCompiledModules()
await import('./main.ts')
