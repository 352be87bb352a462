import type { Facts, Wanted } from './facts.js';

/** What is wrong with the contract, or where it should be, and cannot be put right by another step. Money is not sent there. */
export function findingsOf({ layout, owner, signer }: Wanted, facts: Facts): readonly string[] {
  if (!facts.hasEntryPoint) return [`this chain has no EntryPoint ${layout.entryPointVersion}`];
  const { contract, address } = facts;
  if (contract === undefined) return [];
  // Nothing else that it answers means what it seems to.
  if (!contract.isOfLayout)
    return [`${address} is not a contract of ${layout.id}: its EntryPoint, hash or balances are others`];
  const found: string[] = [];
  const isUngiven = layout.contract.artifact?.owner === 'sender' && contract.isOwnedBySender === true;
  if (contract.isOwned === false)
    found.push(
      isUngiven
        ? `${address} still belongs to its sender: "paymaster contract deploy" gives it to ${owner}`
        : `${address} does not belong to ${owner}`,
    );
  if (contract.isOwnedBySigner === true)
    found.push(`the signer administers the contract: a thief of the hot key ${signer} gets everything`);
  if (!contract.isSignerAccepted && layout.contract.authorise === undefined)
    found.push(
      `${address} does not accept ${signer}, and no call of its layout changes that: deploy another one`,
    );
  return found;
}
