/** How many paymasters of a process have a label value of their own. */
export const maxPaymasterLabels = 1_000;

type Count = { inc(by?: number): void };

/**
 * The counter of each paymaster; `bind` makes one with a label value. There may be a hundred thousand paymasters, and tenants make
 * them, so only the first that are used have a value of their own; all others share `other`.
 */
export function createPaymasterLabels(bind: (paymaster: string) => Count): (paymasterId: string) => Count {
  const bound = new Map<string, Count>();
  const other = bind('other');
  return (paymasterId) => {
    const known = bound.get(paymasterId);
    if (known !== undefined) return known;
    if (bound.size === maxPaymasterLabels) return other;
    const made = bind(paymasterId);
    bound.set(paymasterId, made);
    return made;
  };
}
