/**
 * Plain scalars as kubectl reads them (YAML 1.1 as Go's yaml.v2 has it, measured with kubectl
 * 1.36): `yes` is true and `010` is 8, which YAML 1.2 takes for a text and 10. What is not listed
 * here both read alike.
 */
import type { DocumentOptions, ParseOptions, ScalarTag, SchemaOptions } from 'yaml';

const bool: ScalarTag = {
  tag: 'tag:yaml.org,2002:bool',
  default: true,
  test: /^(?:y|Y|yes|Yes|YES|on|On|ON|n|N|no|No|NO|off|Off|OFF)$/,
  resolve: (text) => /^(?:y|on)/i.test(text),
};

const number = (test: RegExp): ScalarTag => ({
  tag: 'tag:yaml.org,2002:float',
  default: true,
  test,
  resolve: (text) => {
    const [, sign, digits = ''] = /^([-+]?)(.*)$/.exec(text.replaceAll('_', '')) ?? [];
    const value = Number(/^0[0-7]+$/.test(digits) ? `0o${digits.slice(1)}` : digits);
    return sign === '-' ? 0 - value : value;
  },
});
/** Go drops every underline, wherever it stands, of what begins with a sign or a digit. */
const DIGITS = '[0-9][0-9_]*';
const int = number(
  new RegExp(
    `^(?!_)[-+]?_*(?:0_*[xX]_*[0-9a-fA-F][0-9a-fA-F_]*|0_*[bB]_*[01][01_]*|0_*[oO]_*[0-7][0-7_]*|${DIGITS})$`,
  ),
);
/** But between digits alone where it begins with a point. */
const APART = '[0-9]+(?:_[0-9]+)*';
const float = number(
  new RegExp(
    `^(?:\\.${APART}(?:[eE][-+]?${APART})?|(?![_.])[-+]?_*(?:\\._*${DIGITS}|${DIGITS}(?:\\.[0-9_]*)?)(?:[eE]_*[-+]?_*${DIGITS})?)$`,
  ),
);

export const AS_KUBECTL: ParseOptions & DocumentOptions & SchemaOptions = {
  merge: true,
  customTags: (tags) => [bool, int, float, ...tags],
};
