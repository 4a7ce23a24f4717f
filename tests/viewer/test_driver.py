"""Who drives: buttons, keys and gizmos of watchers, the end of a driver, what browsers are told."""

from types import SimpleNamespace

import pytest

from pliant.viewer.driver import Driver


class Server:
    def on_client_connect(self, act):
        self.come = act

    def on_client_disconnect(self, act):
        self.go = act


class Handle(SimpleNamespace):
    """A control that keeps what it calls."""

    def on_update(self, act):
        self.act = act

    on_click = on_trigger = on_update


class Client:
    """A browser: its own pieces of the panel, and the notes that it was shown."""

    def __init__(self, number):
        self.client_id, self.gui, self.notes, self.made = number, self, [], []

    def add_html(self, text, **options):
        self.made.append(Handle(content=text, **options))
        return self.made[-1]

    def add_button(self, label, **options):
        self.made.append(Handle(label=label, **options))
        return self.made[-1]

    def add_notification(self, title, text, **options):
        self.notes.append(title)


def event(client, **more):
    return SimpleNamespace(client_id=getattr(client, "client_id", None), client=client, **more)


@pytest.fixture
def house():
    """A driver with two browsers, of which the first drives."""
    server = Server()
    driver, one, two = Driver(server), Client(1), Client(2)
    server.come(one)
    server.come(two)
    driver.take_over(1)
    return driver, server, one, two


@pytest.mark.parametrize("way", ["press", "trigger"])
def test_buttons_and_keys_of_watchers_do_nothing_but_tell_them(house, way):
    driver, _, one, two = house
    acts, button = [], Handle()
    assert getattr(driver, way)(button, acts.append) is button
    button.act(event(two))
    assert not acts
    assert two.notes == ["Browser 1 drives"]
    button.act(event(one))
    button.act(event(None))
    assert [e.client_id for e in acts] == [1, None], "the program may always"
    assert not one.notes


def test_the_gizmo_of_a_watcher_goes_back_and_is_told_once(house):
    driver, _, one, two = house
    acts, gizmo = [], Handle(position=(1.0, 2.0, 3.0))
    driver.guard_gizmo(gizmo, acts.append)
    assert driver.value(gizmo) == (1.0, 2.0, 3.0)
    for phase in ("start", "update", "end"):
        gizmo.position = (9.0, 9.0, 9.0)
        gizmo.act(event(two, phase=phase))
        assert gizmo.position == driver.value(gizmo) == (1.0, 2.0, 3.0)
    assert len(two.notes) == 1
    gizmo.position = (4.0, 5.0, 6.0)
    gizmo.act(event(one, phase="update"))
    assert driver.value(gizmo) == (4.0, 5.0, 6.0)
    assert len(acts) == 1
    driver.guard_gizmo(other := Handle(position=(0.0, 0.0, 0.0)))
    other.act(event(one, phase="start"))
    driver.move(gizmo, [7, 8, 9])
    assert gizmo.position == driver.value(gizmo) == (7.0, 8.0, 9.0)
    assert len(acts) == 1, "the program moves without calling back"


def test_a_control_calls_only_where_its_value_changed(house):
    driver, _, one, _ = house
    acts, slider = [], Handle(value=1.0)
    assert driver.guard(slider, acts.append) is slider
    slider.act(event(one))
    assert not acts, "what is set back is no change"
    slider.value = 2.0
    slider.act(event(one))
    slider.act(event(one))
    assert len(acts) == 1
    driver.set(slider, 5.0)
    assert (slider.value, driver.value(slider), len(acts)) == (5.0, 5.0, 1)
    driver.guard(silent := Handle(value=1.0))
    silent.value = 2.0
    silent.act(event(one))
    assert driver.value(silent) == 2.0


def test_the_first_that_touches_a_control_drives(house):
    driver, server, one, two = house
    server.go(two)
    assert driver.current == 1, "a watcher that leaves changes nothing"
    server.go(one)
    assert driver.current is None
    server.come(three := Client(3))
    assert driver.allows(event(None))
    assert driver.current is None, "the program takes no place"
    assert driver.allows(event(three))
    assert driver.current == 3


def test_every_browser_is_told_its_part(house):
    driver, server, one, two = house
    server.come(three := Client(3))
    (note, button), (second, take), (third, _) = (client.made for client in (one, two, three))
    assert "You (browser 1) drive; 2 watching." in note.content
    assert "Browser 1 drives; you (browser 2) are watching." in second.content
    assert [note.visible, second.visible, third.visible] == [True] * 3
    assert [button.visible, take.visible] == [False, True]
    take.act(event(two))
    assert driver.current == 2
    assert [button.visible, take.visible] == [True, False]
    server.go(two)
    assert "You are browser 1 of 2; whoever touches a control first drives." in note.content
    assert button.visible is False, "nobody is to be relieved"
    server.go(three)
    assert note.visible is False, "alone, no word is needed"


def test_what_is_said_of_driving_stands_above_the_panel():
    server, client = Server(), Client(1)
    Driver(server)
    server.come(client)
    note, button = client.made
    assert note.order < button.order < -10.0, "the read-outs are at -10"
    assert (note.visible, button.visible) == (False, False)


def test_removed_controls_are_forgotten(house):
    driver = house[0]
    kept, gone = (Handle(value=1.0, _impl=SimpleNamespace(removed=removed)) for removed in (False, True))
    driver.guard(kept)
    driver.guard(gone)
    driver.drop_removed()
    assert driver.value(kept) == 1.0
    with pytest.raises(KeyError):
        driver.value(gone)


def test_a_refused_event_without_a_browser_is_silent(house):
    driver, *_ = house
    button, acts = Handle(), []
    driver.press(button, acts.append)
    button.act(SimpleNamespace(client_id=7, client=None))
    assert not acts
