import { describe, expect, test } from 'vitest'
import { takeUploadTicket, withUploadTicket } from '../../../src/gateway/admission/upload-ticket.ts'

describe('a ticket for an upload', () => {
  const key = `tg_${'aB3'.repeat(12)}`
  const peppers = ['a pepper of thirty-two characters']
  const hourMs = 60 * 60_000
  const sealed = (target: string) => withUploadTicket(target, key, { peppers, nowMs: 0 })
  const taken = (target: string, nowMs = hourMs) => takeUploadTicket(target, { peppers, nowMs })
  const target = '/upload/v1beta/files?upload_id=abc&upload_protocol=resumable'

  test('the key of the client that began it goes with the address, for a day', () => {
    const given = sealed(target)
    expect(given).not.toContain(key)
    expect(taken(given)).toEqual({ target, key })
    expect(taken(given, 25 * hourMs)).toEqual({ target, key: null })
  })

  test.each([
    ['another upload', (given: string) => given.replace('=abc', '=abd')],
    ['another path', (given: string) => given.replace('/files', '/models')],
    ['another upload in front of its own', (given: string) => given.replace('?', '?upload_id=abd&')],
    ['another upload behind its own', (given: string) => `${given}&UPLOAD_ID=abd`],
  ])('it is good for nothing else: %s', (_what, changed) => {
    expect(taken(changed(sealed(target))).key).toBeNull()
  })

  test('of an address that names no upload, or two, nothing is changed', () => {
    for (const other of ['/upload/v1beta/files', '/v1/files?upload_id=a', `${target}&upload_id=b`]) {
      expect(sealed(other)).toBe(other)
    }
  })

  test('a target that is made to be slow is read as fast as any other', () => {
    const slow = `/${'upload/'.repeat(300_000)}?a&tallygate_upload=x${'&'.repeat(2_000_000)}`
    expect(taken(slow).key).toBeNull()
  })
})
