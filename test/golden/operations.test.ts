import { expect, test } from 'vitest'
import { CHAPTERS } from '../../src/operator/chapters.ts'

test('commands against HTTP, and what a command takes beside', async () => {
  const lines = CHAPTERS.flatMap(({ operations }) =>
    operations.map(({ http, command, name }) => {
      const words = 'words' in command ? command.words : `(${[command.none].flat().join(', ')})`
      const route = 'path' in http ? `${http.method} /admin/v1${http.path}` : [http.none].flat().join(', ')
      const without =
        'path' in http && http.without !== undefined ? `, without ${http.without.join(' and ')}` : ''
      return `${name}: ${words} = ${route}${without}`
    }),
  )
  await expect(`${lines.join('\n')}\n`).toMatchFileSnapshot('operations.golden.txt')
})
