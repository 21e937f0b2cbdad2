import type { UtcDay } from '../../domain/utc-day.ts'

/**
 * Public holidays of China, first and last day of each: by the State Council's order of 2025-11-04 for 2026, and of
 * 2024-11-12 for 2025. Of 2027 the days that the law names, as the order is still to come; it adds days to them.
 * https://www.gov.cn/zhengce/zhengceku
 */
const CHINESE_HOLIDAYS: readonly (readonly [UtcDay, UtcDay])[] = [
  ['2025-01-01', '2025-01-01'],
  ['2025-01-28', '2025-02-04'],
  ['2025-04-04', '2025-04-06'],
  ['2025-05-01', '2025-05-05'],
  ['2025-05-31', '2025-06-02'],
  ['2025-10-01', '2025-10-08'],
  ['2026-01-01', '2026-01-03'],
  ['2026-02-15', '2026-02-23'],
  ['2026-04-04', '2026-04-06'],
  ['2026-05-01', '2026-05-05'],
  ['2026-06-19', '2026-06-21'],
  ['2026-09-25', '2026-09-27'],
  ['2026-10-01', '2026-10-07'],
  ['2027-01-01', '2027-01-01'],
  ['2027-02-05', '2027-02-08'],
  ['2027-04-05', '2027-04-05'],
  ['2027-05-01', '2027-05-02'],
  ['2027-06-09', '2027-06-09'],
  ['2027-09-15', '2027-09-15'],
  ['2027-10-01', '2027-10-03'],
]

/** Whether a day in Peking is a public holiday, as far as they are known. */
export function isChineseHoliday(day: UtcDay): boolean {
  return CHINESE_HOLIDAYS.some(([first, last]) => first <= day && day <= last)
}
