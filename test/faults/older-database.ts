import { readdir } from 'node:fs/promises'
import pg from 'pg'
import { migrateTo } from '../store/older-schema.ts'
import type { World } from './world.ts'

/** A database beside the world's that lacks the last migration. */
export async function databaseBehind({ stand }: World): Promise<string> {
  const url = new URL(stand.postgres.url)
  url.pathname = '/behind'
  await stand.pool.query('create database behind')
  const numbers = (await readdir('src/store/migrations')).map((name) => name.slice(0, 4)).sort()
  const client = new pg.Client(url.href)
  await client.connect()
  await migrateTo(client, numbers.at(-2) ?? '')
  await client.end()
  return url.href
}
