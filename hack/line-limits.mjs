/**
 * What is wrong with the sizes of the product's folders, a sentence each. `counts`: lines of code by folder. `limits`: by folder, how
 * many it may have, and why that last rose.
 */
export function checkLines(counts, limits) {
  const unknown = Object.keys(limits)
    .filter((folder) => !Object.hasOwn(counts, folder))
    .map(
      (folder) =>
        `hack/lines.json has a figure for ${folder}, which is not a folder of the product: take it out.`,
    );
  return [
    ...Object.entries(counts).flatMap(([folder, lines]) => checkFolder(folder, lines, limits[folder])),
    ...unknown,
  ];
}

function checkFolder(folder, lines, limit) {
  if (!Number.isSafeInteger(limit?.lines))
    return [
      `${folder} has ${lines} lines of code and no figure in hack/lines.json: add one with its reason.`,
    ];
  const problems = [];
  if (lines > limit.lines)
    problems.push(
      `${folder} has ${lines} lines of code and may have ${limit.lines}: make something there smaller, or raise its figure in hack/lines.json with the reason.`,
    );
  if (!/^\p{Lu}[^\n]{10,}\.$/u.test(limit.why ?? ''))
    problems.push(
      `${folder} has no reason in hack/lines.json: say in one sentence why its figure last rose.`,
    );
  return problems;
}
