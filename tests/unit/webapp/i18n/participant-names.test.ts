import { expect, test } from "vitest";
import { participantName } from "../../../../webapp/static/src/i18n/texts/volunteers/participant-names";

// The same in tests/contract/test_participant_names.py.
test.each([
  ["0000ffffffffffff", "turquoise llama"],
  ["0001000000000000", "turquoise alpaca"],
  ["0040000000000000", "violet llama"],
  ["03ff000000000000", "coral hare"],
  ["ffff000000000000", "coral hare"],
])("the client %s is the %s", (client, name) => {
  expect(participantName(client)).toBe(name);
});
