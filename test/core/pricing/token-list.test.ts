import { describe, expect, test } from '@jest/globals';
import { chooseTokens, type TokenChoice } from '../../../core/pricing/token-list.js';
import { aServedToken } from '../../build/prices.js';

const usdc = '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48';
const dai = '0x6B175474E89094C44Da98b954EedeAC495271d0F';
const weth = '0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2';
const unknown = '0x1111111111111111111111111111111111111111';
const served = new Map(
  [usdc, dai, weth].map((address) => [address.toLowerCase(), aServedToken({ address })] as const),
);

type Case = {
  readonly name: string;
  readonly choice: TokenChoice;
  readonly tokens: readonly string[];
  readonly unsupported?: readonly string[];
};

describe('the tokens of a quote request', () => {
  test.each<Case>([
    { name: 'all served ones without a list', choice: {}, tokens: [usdc, dai, weth] },
    { name: 'all served ones with an empty list', choice: { tokenList: [] }, tokens: [usdc, dai, weth] },
    { name: 'those of the list, in its order', choice: { tokenList: [weth, usdc] }, tokens: [weth, usdc] },
    {
      name: 'the preferred one first, which clients take',
      choice: { preferredToken: dai, tokenList: [weth, dai] },
      tokens: [dai, weth],
    },
    { name: 'the preferred one and then all', choice: { preferredToken: weth }, tokens: [weth, usdc, dai] },
    {
      name: 'an empty preferred token counts as absent',
      choice: { preferredToken: '', tokenList: [dai] },
      tokens: [dai],
    },
    {
      name: 'each once, in whatever case it is written',
      choice: { tokenList: [dai, dai.toLowerCase(), `0x${dai.slice(2).toUpperCase()}`] },
      tokens: [dai],
    },
    {
      name: 'without those that are not served, which are listed as the caller wrote them',
      choice: { preferredToken: unknown, tokenList: [unknown, usdc] },
      tokens: [usdc],
      unsupported: [unknown],
    },
  ])('are $name', ({ choice, tokens, unsupported = [] }) => {
    const chosen = chooseTokens(choice, served);
    expect(chosen.tokens.map(({ address }) => address)).toEqual(tokens);
    expect(chosen.unsupported).toEqual(unsupported);
  });
});
