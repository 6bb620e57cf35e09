import { expect, test } from "vitest";
import { partAlerts } from "../../../../../webapp/static/src/ui/manage/alerts";

const alert = (id: number, trouble: string, cleared: number | null, acknowledged: number | null = null) => ({
  id,
  trouble,
  text: trouble,
  at: id,
  cleared,
  acknowledged,
});
const ids = (alerts: readonly { id: number }[]) => alerts.map(({ id }) => id);

test("of a trouble that came and went several times the newest alert is shown", () => {
  const parts = partAlerts([alert(4, "store", 5), alert(3, "overfitting", 4), alert(2, "overfitting", 3)]);
  expect(ids(parts.open)).toEqual([4, 3]);
  expect(ids(parts.earlier)).toEqual([2]);
});

test("what lasts is shown, also beside a newer alert; what ended and was seen is not", () => {
  const parts = partAlerts([alert(3, "store", 5, 6), alert(2, "store", null), alert(1, "store", 2)]);
  expect(ids(parts.open)).toEqual([2]);
  expect(ids(parts.earlier)).toEqual([3, 1]);
});
