# Both targets do their whole set-up; all they need is Python 3.11 or later.
PYTHON ?= python3

.PHONY: demo test

demo:
	$(PYTHON) dev.py demo $(DEMO_FLAGS)

test:
	$(PYTHON) dev.py test $(TEST_FLAGS)
