import { parseAddress } from '../../core/units/address.js';

/**
 * Accounts of anvil's well-known mnemonic ("test test … junk"). Their keys are public, and every anvil prints them: use
 * them on dev chains only.
 */
export const devAccounts = {
  /** Deploys everything and owns our contracts (signer and stake). */
  deployer: {
    address: parseAddress('0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'),
    privateKey: '0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80',
  },
  /** Default funding wallet of the dev chain. */
  funding: {
    address: parseAddress('0x70997970C51812dc3A010C7d01b50e0d17dc79C8'),
    privateKey: '0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d',
  },
  /** Signs sponsorships: the contracts of the dev chain trust this key, and their addresses depend on it. */
  signer: {
    address: parseAddress('0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC'),
    privateKey: '0x5de4111afa1a4b94908f83103eb1f1706367c2e68ca870fc3fb9a804cdab365a',
  },
  /** Receives fee tokens, pays for gas in token mode. */
  treasury: {
    address: parseAddress('0x90F79bf6EB2c4f870365E785982E1f101E93b906'),
    privateKey: '0x7c852118294e51e653712a81e05800f419141751be58f605c371e15141b007a6',
  },
  /** Submits the bundles of the bundler beside `make run`. */
  bundler: {
    address: parseAddress('0x23618e81E3f5cdF7f54C3d65f7FBc0aBf5B21E8f'),
    privateKey: '0xdbda1821b80551c9d65939329250298aa3472ba22feea921c0cf5d620ea67b97',
  },
  /** Deploys the bundler's own contracts. */
  bundlerUtility: {
    address: parseAddress('0xa0Ee7A142d267C1f36714E4a8F75612F20a79720'),
    privateKey: '0x2a871d0798f97d79848a013d4936a73bf4cc922c825d33c1cf7073dff6d409c6',
  },
} as const;
