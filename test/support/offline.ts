/** For processes of ours in tests: nothing is asked of anybody out there. */
export const OFFLINE = { PRICES_REFRESH: 'off' }
