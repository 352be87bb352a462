/** What an open console asks on its first page, and how long after an answer again; `test/console/polling` compares it with the page. */
export type Question = { readonly path: string; readonly everyMs: number };

export const consoleQuestions: readonly Question[] = [
  { path: '/manage/v1/me', everyMs: 5_000 },
  { path: '/manage/v1/usage?groupBy=paymaster', everyMs: 5_000 },
  { path: '/manage/v1/usage?groupBy=reason', everyMs: 5_000 },
  { path: '/manage/v1/funds', everyMs: 5_000 },
  { path: '/manage/v1/problems', everyMs: 15_000 },
];

/** With the range that the page chooses: the last 24 hours, which begin with a whole one. */
export function askedNow({ path }: Question, now: number): string {
  if (!path.startsWith('/manage/v1/usage')) return path;
  const from = new Date(now - 24 * 3_600_000);
  from.setUTCMinutes(0, 0, 0);
  return `${path}&${new URLSearchParams({ from: from.toISOString(), step: 'hour' })}`;
}
