import type { Connection } from '../../../standalone/connection.js';

/** A decision of the API, as far as the comparison with the chain needs it. */
export type DecisionRow = {
  readonly sender: string;
  readonly nonce: string;
  readonly id: string;
  readonly callerRequestId: string;
  readonly paymasterId: string;
  readonly userOpHash: string | null;
  readonly settlement: null | {
    readonly outcome: 'mined' | 'expired' | 'spent-elsewhere';
    readonly at: string;
    readonly transactionHash: string | null;
    readonly actualGasCostWei: string;
    readonly success: boolean | null;
  };
};

export type UsageSums = {
  readonly sponsored: number;
  readonly mined: number;
  readonly reverted: number;
  readonly expired: number;
  readonly spentWei: bigint;
};

export type Access = Pick<Required<Connection>, 'dashboardUrl' | 'authToken'>;
const range = { from: '2020-01-01T00:00:00Z', to: '2030-01-01T00:00:00Z' };

/** All that was signed for a paymaster. */
export async function readDecisions(access: Access, paymasterId: string): Promise<readonly DecisionRow[]> {
  const rows: DecisionRow[] = [];
  const asked = { ...range, paymasterId, verdict: 'sponsored', limit: '1000' };
  for (let cursor: string | null | undefined; cursor !== null;) {
    const page = await ask<{ items: readonly DecisionRow[]; nextCursor: string | null }>(
      access,
      'decisions',
      {
        ...asked,
        ...(cursor === undefined ? {} : { cursor }),
      },
    );
    rows.push(...page.items);
    cursor = page.nextCursor;
  }
  return rows;
}

export async function readUsage(access: Access, paymasterId: string): Promise<UsageSums> {
  type Row = Omit<UsageSums, 'spentWei'> & { readonly spentWei: string };
  const { items } = await ask<{ items: readonly Row[] }>(access, 'usage', {
    ...range,
    paymasterId,
    step: 'month',
  });
  return items.reduce(
    (sum, row) => ({
      sponsored: sum.sponsored + row.sponsored,
      mined: sum.mined + row.mined,
      reverted: sum.reverted + row.reverted,
      expired: sum.expired + row.expired,
      spentWei: sum.spentWei + BigInt(row.spentWei),
    }),
    { sponsored: 0, mined: 0, reverted: 0, expired: 0, spentWei: 0n },
  );
}

async function ask<T>(
  { dashboardUrl, authToken }: Access,
  path: string,
  parameters: Readonly<Record<string, string>>,
): Promise<T> {
  const url = `${dashboardUrl}/manage/v1/${path}?${new URLSearchParams(parameters)}`;
  const response = await fetch(url, {
    headers: { authToken, connection: 'close' },
    signal: AbortSignal.timeout(60_000),
  });
  const text = await response.text();
  if (response.status !== 200) throw new Error(`HTTP ${response.status} from ${path}: ${text.slice(0, 300)}`);
  return (JSON.parse(text) as { data: T }).data;
}
