import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { releaseFiles, sumsOf, versionAfter } from '../../scripts/release/release-files.ts'

const read = (path: string) => readFileSync(path, 'utf8')
const [major = 0, minor = 0, patch = 0] = String(JSON.parse(read('package.json')).version)
  .split('.')
  .map(Number)
const NEXT = `${major}.${minor + 1}.0`

test('a release has its version in every place, and no other place has the one before', () => {
  const files = releaseFiles(NEXT, '2027-01-02', read)
  for (const [path, text] of files)
    expect([path, text.includes(NEXT) || path === 'SECURITY.md']).toEqual([path, true])
  expect(JSON.parse(files.get('package.json') ?? '')).toMatchObject({ version: NEXT })
  expect(JSON.parse(files.get('package-lock.json') ?? '')).toMatchObject({
    version: NEXT,
    packages: { '': { version: NEXT } },
  })
  expect(files.get('SECURITY.md')).toContain(`| ${major}.${minor + 1} | yes |`)
  expect(files.get('deploy/kubernetes/tallygate.yaml')).not.toContain(`${major}.${minor}.${patch}`)
})

test('the changelog begins with an empty Unreleased, and the entries are those of the release', () => {
  const before = read('CHANGELOG.md')
  const after = releaseFiles(NEXT, '2027-01-02', read).get('CHANGELOG.md') ?? ''
  expect(after).toMatch(new RegExp(`^## Unreleased\\n\\n## ${NEXT} \\(2027-01-02\\)\\n\\n- `, 'm'))
  expect(after.length - before.length).toBe(`\n## ${NEXT} (2027-01-02)\n`.length)
})

test('a version that does not follow is refused, and so is a release of nothing', () => {
  for (const version of ['', '1', 'v0.3.0', `${major}.${minor}.${patch}`, `${major}.${minor + 2}.0`, '0.0.1'])
    expect(() => releaseFiles(version, '2027-01-02', read)).toThrow('does not follow')
  const none = (path: string) =>
    path === 'CHANGELOG.md' ? '## Unreleased\n\n## 0.1.0 (2026-01-01)\n\n- x\n' : read(path)
  expect(() => releaseFiles(NEXT, '2027-01-02', none)).toThrow('nothing under Unreleased')
})

test('the next version is found by the number that is raised', () => {
  expect(versionAfter('minor', read)).toBe(NEXT)
  expect(versionAfter('major', read)).toBe(`${major + 1}.0.0`)
  expect(versionAfter('patch', read)).toBe(`${major}.${minor}.${patch + 1}`)
  expect(versionAfter('1.2.3', read)).toBe('1.2.3')
})

test('SECURITY.md supports the version that the package is', () => {
  expect(read('SECURITY.md')).toContain(`| ${major}.${minor} | yes |`)
})

test('sums are in the form that sha256sum --check reads, by name', () => {
  expect(sumsOf({ b: '22', a: '11' })).toBe('11  a\n22  b\n')
})
