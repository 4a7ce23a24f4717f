"""A status says what happened and what to try."""

from pliant.core.status import Status


def test_texts_are_distinct_sentences():
    texts = [status.text for status in Status]
    assert len(set(texts)) == len(Status)
    assert all(len(text) > 20 for text in texts)


def test_failures_say_what_to_try():
    assert not Status.ITERATION_LIMIT.ok
    assert not Status.STALLED.ok
    assert all(":" in status.text for status in Status if not status.ok)
    assert Status.CONVERGED.ok
    assert Status.FIXED_ITERATIONS.ok
    assert Status.FREE_MOTION.ok
    assert "clamp" in Status.FREE_MOTION.text
