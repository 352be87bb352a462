import { call } from './api.js';
import { useLive, type Live } from './live.js';
import type { Choice } from './parts/parts.js';
import type { Managed, Paymaster, PaymasterSpec } from './records.js';

/** `object` is the name of its resource; `apiKey` is absent for one that the service has not seen yet. */
export type Known = Omit<PaymasterSpec, 'suspended'> & {
  readonly object: string;
  readonly paymasterId: string;
  readonly apiKey?: string;
  readonly isSuspended: boolean;
  /** Set while it pays for anything. */
  readonly open?: string;
};

type Page<Spec> = { readonly items: readonly Managed<Spec>[]; readonly nextCursor: string | null };

/** All pages of a list of `/manage/v1`. */
export async function listOf<Spec>(path: string): Promise<readonly Managed<Spec>[]> {
  const found: Managed<Spec>[] = [];
  let cursor: string | null = '';
  while (cursor !== null) {
    const query = new URLSearchParams({ limit: '500', ...(cursor && { cursor }) });
    const page: Page<Spec> = await call(`/manage/v1/${path}${path.includes('?') ? '&' : '?'}${query}`);
    found.push(...page.items);
    cursor = page.nextCursor;
  }
  return found;
}

/** Those of the organisation. */
export function usePaymasters(): Live<readonly Known[]> {
  return useLive(
    'paymasters',
    async () => {
      const keys = await call<readonly Paymaster[]>('/api/v2/public/sdk/paymaster');
      return (await listOf<PaymasterSpec>('paymasters')).map(
        ({ name: object, id: paymasterId, spec, status }): Known => {
          const { name, chainId, version, funding, suspended: isSuspended = false } = spec;
          const apiKey = keys.find((key) => key.name === name && key.chainId === chainId)?.apiKey;
          const open = status.conditions?.find(
            ({ type, status: is }) => type === 'OpenSponsorship' && is === 'True',
          );
          return {
            object,
            paymasterId,
            name,
            chainId,
            version,
            isSuspended,
            ...(funding && { funding }),
            ...(apiKey && { apiKey }),
            ...(open && { open: open.message }),
          };
        },
      );
    },
    15_000,
  );
}

export function labelOf({ name, chainId }: Known): string {
  return `${name} (chain ${chainId})`;
}

/** For a filter by paymaster. */
export function choicesOf({ data = [] }: Live<readonly Known[]>): readonly Choice[] {
  return [['', 'All paymasters'], ...data.map((one): Choice => [one.paymasterId, labelOf(one)])];
}

export function nameOf({ data = [] }: Live<readonly Known[]>, id: string): string {
  return data.find(({ paymasterId }) => paymasterId === id)?.name ?? id.slice(0, 8);
}
