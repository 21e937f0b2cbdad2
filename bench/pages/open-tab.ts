import { launchChromium, watchWire } from '../../test/pages/chromium.ts'
import { cpuBetween, useOf } from '../stand/proc.ts'
import type { Database } from '../usage/measure.ts'
import { bytesOf, openOverview } from './browse.ts'

/** What an open tab costs, beside the same time without one. */
export interface TabCost {
  /** Of a core, by PostgreSQL. */
  readonly postgresPercent: number
  readonly bytesAMinute: number
  readonly requestsAMinute: number
}

export interface Tab {
  readonly quiet: TabCost
  /** While calls are counted every second, so that no answer is 304. */
  readonly underLoad: TabCost
}

export async function measureTab(
  { pool, postgres }: Database,
  url: string,
  token: string,
  seconds: number,
): Promise<Tab> {
  const browser = await launchChromium()
  const counted = () => pool.query(`update tallygate.producers set moved_at = now() where id = 'bench'`)
  const cpuOf = async (isLoaded: boolean): Promise<number> => {
    const before = useOf(postgres.pid)
    for (let second = 0; second < seconds; second += 1) {
      if (isLoaded) await counted()
      await new Promise((resolve) => setTimeout(resolve, 1_000))
    }
    return (cpuBetween(before, useOf(postgres.pid)) ?? Number.NaN) / 1e6
  }
  const measure = async (isLoaded: boolean): Promise<TabCost> => {
    const without = await cpuOf(isLoaded)
    const page = await browser.newPage({ viewport: { width: 1280, height: 900 } })
    await openOverview(page, url, token)
    const wire = await watchWire(page)
    const withTab = await cpuOf(isLoaded)
    const cost = {
      postgresPercent: ((withTab - without) / seconds) * 100,
      bytesAMinute: (bytesOf(wire) / seconds) * 60,
      requestsAMinute: (wire.urls.length / seconds) * 60,
    }
    await page.close()
    return cost
  }
  const tab = { quiet: await measure(false), underLoad: await measure(true) }
  await browser.close()
  return tab
}
